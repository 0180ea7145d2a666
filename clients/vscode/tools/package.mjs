// The extension with server and worker inside, as one file: node tools/package.mjs BUILD_FOLDER [OUTPUT.vsix]
// It is put together in a folder of its own, where README.md carries its images: a packed extension has no other files to name.
import { execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createVSIX } from "@vscode/vsce";
import { embedImages } from "./readme.mjs";
import { completed } from "./settings.mjs";

const [folder, output] = process.argv.slice(2);
if (!folder) throw new Error("usage: node tools/package.mjs BUILD_FOLDER [OUTPUT.vsix]");

// The programs in it are for this platform alone, and so is the package.
const target = `${process.platform}-${process.arch}`;
const packagePath = resolve(output ?? `tad-lsp-${target}.vsix`);
execFileSync(process.execPath, ["tools/build.mjs", "--minify"], { stdio: "inherit" });
const cwd = mkdtempSync(join(tmpdir(), "tad-vsix-"));
try {
  for (const part of ["dist", "media"]) cpSync(part, join(cwd, part), { recursive: true });
  const manifest = JSON.parse(readFileSync("package.json", "utf8"));
  const { configuration } = manifest.contributes;
  configuration.properties = completed(configuration.properties);
  writeFileSync(join(cwd, "package.json"), JSON.stringify(manifest, null, 2));
  cpSync("../../LICENSE", join(cwd, "LICENSE"));
  writeFileSync(join(cwd, "README.md"), embedImages(readFileSync("README.md", "utf8"), "."));
  // Programs and the shared libraries that they look for beside themselves.
  const install = ["--install", resolve(folder), "--prefix", join(cwd, "bin"), "--strip"];
  execFileSync("cmake", install, { stdio: ["ignore", "ignore", "inherit"] });
  writeFileSync(join(cwd, ".vscodeignore"), "**/*.map\n");
  await createVSIX({
    cwd,
    packagePath,
    target,
    dependencies: false,
    rewriteRelativeLinks: false,
    allowMissingRepository: true,
    skipLicense: false,
  });
} finally {
  rmSync(cwd, { recursive: true, force: true });
}
