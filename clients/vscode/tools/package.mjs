// The extension with server and worker inside, as one file: node tools/package.mjs BUILD_FOLDER [OUTPUT.vsix]
import { chmodSync, copyFileSync, existsSync, mkdirSync, rmSync } from "node:fs";
import { execFileSync } from "node:child_process";
import { join, resolve } from "node:path";
import { createVSIX } from "@vscode/vsce";

const [folder, output] = process.argv.slice(2);
if (!folder) throw new Error("usage: node tools/package.mjs BUILD_FOLDER [OUTPUT.vsix]");

rmSync("bin", { recursive: true, force: true });
mkdirSync("bin");
for (const name of ["tad-lsp", "tad-runner"]) {
  const built = join(resolve(folder), name);
  if (!existsSync(built)) throw new Error(`${built} is missing: build the release first`);
  copyFileSync(built, join("bin", name));
  chmodSync(join("bin", name), 0o755);
}
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
