// The story of a kernel author, by keys and clicks on the page of a real VS Code: each step goes on where the last one ended.
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { Editor, Workbench } from "../editor.mjs";

let editor, page, bench;

before(async () => {
  editor = await Editor.start({ vsix: process.env.TAD_VSIX, trusted: true });
  page = await editor.page({ file: "softmax.py" });
  bench = new Workbench(page);
  page.setDefaultTimeout(20_000);
});

after(() => editor?.stop());

/** A step; what the page looked like is kept when it fails. */
function step(name, action) {
  test(name, async () => {
    try {
      await action();
    } catch (error) {
      await bench.shot(`failed-${name.replace(/\W+/g, "-")}`);
      throw error;
    }
  });
}

step("a kernel opens with lenses over it and shapes beside its names", async () => {
  await bench.ready();
  await bench.editorOf("softmax.py");
  await bench.lens("Generate backward").waitFor({ timeout: 60_000 });
  assert.equal(await bench.lenses("Check gradients").count(), 2);
  await page.locator(".view-line", { hasText: /numerator.*BLOCK/ }).first().waitFor();
});

step("a mistake is underlined while it is typed, and hover explains it", async () => {
  await bench.goToLine(13, 25);
  await page.keyboard.type("m");
  await page.keyboard.press("Backspace");
  await bench.goToLine(17, 55);
  await page.keyboard.press("End");
  await page.keyboard.press("ArrowLeft");
  await page.keyboard.type(", mosk=1");
  await page.keyboard.press("Escape");
  const squiggle = page.locator(".squiggly-error").first();
  await squiggle.waitFor();
  await bench.shot("mistake");
  await bench.hoverOver(squiggle);
  await page.locator(".monaco-hover", { hasText: "no parameter `mosk`" }).first().waitFor();
  await bench.shot("finding");
  await page.keyboard.press("Escape");
  for (let i = 0; i < ", mosk=1".length; i++) await page.keyboard.press("Backspace");
  await squiggle.waitFor({ state: "detached" });
});

step("hover over a name says what it is", async () => {
  await bench.hoverOver(page.locator(".view-line span", { hasText: /^\s*numerator$/ }).first());
  const hover = page.locator(".monaco-hover:visible", { hasText: "BLOCK" }).first();
  await hover.waitFor();
  await bench.shot("hover");
  await page.keyboard.press("Escape");
});

step("the lens shows the backward beside nothing, and Accept writes it", async () => {
  await bench.lens("Generate backward").click();
  await page.locator(".tab.active", { hasText: "backward of softmax_kernel" }).waitFor();
  await page.locator(".diff-editor .modified .view-line", { hasText: "def softmax_kernel_backward" }).first().waitFor();
  const file = join(editor.workspace, "softmax_kernel_backward.py");
  assert.ok(!existsSync(file), "nothing is written before it is accepted");
  await bench.shot("preview");
  await page.locator('.editor-actions a[aria-label^="Accept Backward"]').first().click();
  await page.locator('.tab.active[data-resource-name="softmax_kernel_backward.py"]').waitFor();
  assert.match(readFileSync(file, "utf8"), /def softmax_kernel_backward\(/);
});

step("the gradients are verified, and both lenses say so", async () => {
  await bench.openFile("softmax.py");
  await bench.lens(/gradients verified, worst/).waitFor();
  await bench.shot("editor");
});

step("an edit makes the result stale, undo makes it good again", async () => {
  await bench.goToLine(16);
  await page.keyboard.press("End");
  await page.keyboard.type(" * 1.0");
  await bench.lens(/changed since the last check/).waitFor();
  await bench.shot("stale");
  for (let i = 0; i < 6; i++) await page.keyboard.press("Backspace");
  await bench.lens(/gradients verified, worst/).waitFor();
  await page.keyboard.press("Control+s");
});

step("the panel has the table of the check and the picture of the schedule", async () => {
  await bench.openFile("layer_norm.py");
  await bench.lens("Check gradients").click();
  await bench.lens(/gradients verified, worst/).waitFor({ timeout: 60_000 });
  await bench.goToLine(21);
  await bench.command("Triton: Show Gradients");
  const pick = page.locator(".quick-input-list .monaco-list-row", { hasText: "layer_norm_kernel" });
  await pick.waitFor();
  await page.keyboard.press("Enter");
  const frame = page.frameLocator("iframe.webview.ready").frameLocator("#active-frame");
  await frame.locator("table tbody tr").first().waitFor();
  assert.match(await frame.locator("h1").innerText(), /layer_norm_kernel/);
  assert.ok((await frame.locator("svg .element.collides").count()) > 0, "the weights' gradients collide in the forward turned round");
  assert.ok((await frame.locator("svg .element.private").count()) > 0);
  await frame.locator('[data-type="check"]').focus();
  await page.keyboard.press("Enter");
  await frame.locator(".status.proved").waitFor({ timeout: 60_000 });
  assert.equal(await frame.locator(":focus").getAttribute("data-type"), "check", "the keyboard stays where it was");
  await bench.shot("panel");
  await bench.command("View: Close Editor");
});

step("the Testing view runs checks and shows their results", async () => {
  await bench.command("Testing: Focus on Test Explorer View");
  const tree = page.locator(".test-explorer");
  await tree.locator(".monaco-list-row", { hasText: "layer_norm.py" }).waitFor();
  await bench.command("Test: Run All Tests");
  await tree.locator(".monaco-list-row", { hasText: "softmax.py" }).locator(".codicon-testing-passed-icon").waitFor({ timeout: 60_000 });
  await bench.shot("testing");
});
