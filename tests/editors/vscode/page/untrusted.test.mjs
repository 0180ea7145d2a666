// An untrusted workspace: kernels are analysed, nothing is run, and the editor says so.
import assert from "node:assert/strict";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before } from "node:test";
import { Editor, Workbench } from "../editor.mjs";
import { stepsOn } from "../steps.mjs";

const stage = {};
const step = stepsOn(stage);
let editor, page, bench;

before(async () => {
  editor = stage.editor = await Editor.start({ vsix: process.env.TAD_VSIX, trusted: false });
  // The workspace wants another server, another worker and another Python: none may be started.
  mkdirSync(join(editor.workspace, ".vscode"), { recursive: true });
  writeFileSync(join(editor.workspace, ".vscode/settings.json"), JSON.stringify(Object.fromEntries(["server.path", "runner.command", "python.command"].map((name) => [`tad.${name}`, join(editor.workspace, "evil")]))));
  writeFileSync(join(editor.workspace, "evil"), `#!/bin/sh\ntouch "${join(editor.workspace, "started")}"\n`, { mode: 0o755 });
  page = await editor.page({ file: "softmax.py" });
  bench = stage.bench = new Workbench(page);
});

after(() => editor?.stop());

step("kernels are analysed, but gradients are not checked", async () => {
  await bench.ready();
  await bench.editorOf("softmax.py");
  await bench.lens("Generate backward").waitFor();
  await page.locator(".statusbar-item", { hasText: "Restricted Mode" }).waitFor();
  await bench.clickLens("Check gradients", page.locator(".notification-list-item", { hasText: "not trusted" }));
  await page.waitForTimeout(500); // it fades in
  await bench.shot("untrusted");
  await bench.clickLens("Time", page.locator(".notification-list-item", { hasText: "Timing runs kernels" }));
  assert.equal(await bench.lenses(/gradients proved/).count(), 0);
  assert.ok(!existsSync(join(editor.workspace, "started")), "no program that the workspace names is started");
});
