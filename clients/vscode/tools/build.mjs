// src/ to dist/: the extension, the panel's page; with --tests also the tests that run under Node and in the extension host.
import { build } from "esbuild";
import { readdirSync, rmSync } from "node:fs";

const common = { bundle: true, logLevel: "warning", sourcemap: true, target: "es2022" };
const node = { ...common, platform: "node", format: "cjs", external: ["vscode"], target: "node18" };
const minify = process.argv.includes("--minify");

rmSync("dist", { recursive: true, force: true });
await build({ ...node, minify, entryPoints: ["src/extension.ts"], outfile: "dist/extension.js" });
await build({ ...common, minify, platform: "browser", format: "iife", entryPoints: ["src/panel-page.ts"], outfile: "dist/panel.js" });
if (process.argv.includes("--tests")) {
  const unit = readdirSync("test/unit").map((name) => `test/unit/${name}`);
  await build({ ...node, entryPoints: unit, outdir: "dist/unit" });
}
