// The extension with server and worker inside, as one file: node tools/package.mjs BUILD_FOLDER [OUTPUT.vsix]
import { copyFileSync, rmSync } from "node:fs";
import { execFileSync } from "node:child_process";
import { resolve } from "node:path";
import { createVSIX } from "@vscode/vsce";

const [folder, output] = process.argv.slice(2);
if (!folder) throw new Error("usage: node tools/package.mjs BUILD_FOLDER [OUTPUT.vsix]");

// Programs and the shared libraries that they look for beside themselves.
rmSync("bin", { recursive: true, force: true });
execFileSync("cmake", ["--install", resolve(folder), "--prefix", "bin", "--strip"], { stdio: ["ignore", "ignore", "inherit"] });
copyFileSync("../../LICENSE", "LICENSE");
execFileSync(process.execPath, ["tools/build.mjs", "--minify"], { stdio: "inherit" });
const target = `${process.platform}-${process.arch}`;
const packagePath = resolve(output ?? `tad-lsp-${target}.vsix`);
await createVSIX({
  cwd: process.cwd(),
  packagePath,
  target,
  dependencies: false,
  rewriteRelativeLinks: false,
  allowMissingRepository: true,
  skipLicense: false,
});
