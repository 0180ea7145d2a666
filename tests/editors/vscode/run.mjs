// The editor's tests: node run.mjs EXTENSION.vsix [host|roots|page]... In the extension host, then by clicks on the page.
import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { resolve } from "node:path";
import { Editor, here } from "./editor.mjs";

const HOST_TIMEOUT_MS = 900_000;

/** Runs host/index.js inside the extension host, with one folder or with two; true when everything in it passed. */
async function runHostTests(vsix, hasTwoRoots) {
  const editor = await Editor.start({ vsix, trusted: true, keep: Boolean(process.env.TAD_KEEP) });
  try {
    let finish;
    const finished = new Promise((done) => (finish = done));
    const origin = `vscode-remote://127.0.0.1:${editor.port}`;
    await editor.page({
      workspaceFile: hasTwoRoots ? editor.twoRoots() : undefined,
      payload: [
        ["extensionDevelopmentPath", `${origin}${here}/host`],
        ["extensionTestsPath", `${origin}${here}/host/index`],
        ["skipWelcome", "true"],
      ],
      before: async (page) => {
        await page.exposeFunction("codeAutomationLog", (type, args) => {
          if (String(args[0]).startsWith("host")) console.log(...args);
        });
        await page.exposeFunction("codeAutomationExit", (code) => finish(code));
      },
    });
    const late = new Promise((done) => setTimeout(() => done("out of time"), HOST_TIMEOUT_MS).unref());
    const code = await Promise.race([finished, late]);
    if (code !== 0) console.error(`tests in the extension host: ${code}`);
    return code === 0;
  } finally {
    await editor.stop();
  }
}

function runPageTests(vsix) {
  const files = readdirSync(`${here}/page`).map((name) => `${here}/page/${name}`); // a folder's name means a module to later Nodes
  const args = ["--test", "--test-reporter=spec", "--test-concurrency=1", ...files];
  const result = spawnSync(process.execPath, args, { stdio: "inherit", env: { ...process.env, TAD_VSIX: vsix } });
  return result.status === 0;
}

const [vsixArgument, ...parts] = process.argv.slice(2);
if (!vsixArgument) throw new Error("usage: node run.mjs EXTENSION.vsix [host|roots|page]...");
const vsix = resolve(vsixArgument);
const wanted = (part) => parts.length === 0 || parts.includes(part);
let passed = true;
if (wanted("host")) passed = (await runHostTests(vsix, false)) && passed;
if (wanted("roots")) passed = (await runHostTests(vsix, true)) && passed;
if (wanted("page")) passed = runPageTests(vsix) && passed;
process.exit(passed ? 0 : 1);
