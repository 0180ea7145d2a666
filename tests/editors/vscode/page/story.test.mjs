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

async function until(condition, what) {
  const deadline = Date.now() + 20_000;
  while (!condition()) {
    assert.ok(Date.now() < deadline, `waited in vain for ${what}`);
    await page.waitForTimeout(50);
  }
}

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
  await bench.goToLine(17, 55);
  await page.keyboard.press("End");
  await page.keyboard.press("ArrowLeft");
  await page.keyboard.type(", mosk=1");
  await page.keyboard.press("Escape");
  await page.keyboard.press("Escape");
  const squiggle = page.locator(".squiggly-error").first();
  await squiggle.waitFor();
    await bench.hover(squiggle, "no parameter `mosk`");
  await bench.shot("finding");
  await page.keyboard.press("Escape");
  for (let i = 0; i < ", mosk=1".length; i++) await page.keyboard.press("Backspace");
  await squiggle.waitFor({ state: "detached" });
});

step("hover over a name says what it is", async () => {
  await bench.hover(page.locator(".view-line span", { hasText: /^\s*numerator$/ }).first(), /numerator.*BLOCK/);
  await bench.shot("hover");
  await page.keyboard.press("Escape");
});

step("the lens shows the backward beside nothing, and Accept writes it", async () => {
  await bench.clickLens("Generate backward", page.locator(".tab.active", { hasText: "backward of softmax_kernel" }));
  await page.locator(".view-line", { hasText: "def softmax_kernel_backward" }).first().waitFor();
  const file = join(editor.workspace, "softmax_kernel_backward.py");
  assert.ok(!existsSync(file), "nothing is written before it is accepted");
  await bench.shot("preview");
  await page.locator('.editor-actions a[aria-label^="Accept Backward"]').first().click();
  await page.locator(".tab", { hasText: "backward of softmax_kernel" }).waitFor({ state: "detached" });
  await page.locator('.tab.active[data-resource-name="softmax_kernel_backward.py"]').waitFor();
  await until(() => existsSync(file), "the file that was accepted");
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
  await bench.clickLens("Check gradients", bench.lenses(/gradients verified, worst/));
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
  await page.waitForTimeout(1000); // the check that was started by key is under way, or over
  await frame.locator(".status.proved").waitFor({ timeout: 60_000 });
  assert.equal(await frame.locator(":focus").getAttribute("data-type"), "check", "the keyboard stays where it was");
  await bench.shot("panel");
  await frame.locator('[data-type="open"]').click();
  await page.locator(".tab", { hasText: "Gradients: layer_norm_kernel" }).locator(".codicon-close").click();
});

step("the Testing view checks a file and shows each kernel's result", async () => {
  await bench.command("Testing: Focus on Test Explorer View");
  const row = bench.testRow("layer_norm.py");
  await row.click();
  await page.keyboard.press("ArrowRight");
  await bench.testRow("layer_norm_row_kernel").waitFor();
  await bench.runTest("layer_norm.py");
  await bench.testRow("layer_norm_row_kernel").locator(".codicon-testing-passed-icon").waitFor({ timeout: 60_000 });
  await row.locator(".codicon-testing-passed-icon").waitFor();
  await bench.shot("testing");
});

step("where the rules refuse, the light bulb has the action disabled, and the lens says the reason", async () => {
  await bench.openFile("refused.py");
  await bench.lens(/no backward.*inline_asm_elementwise/).waitFor();
  await bench.goToLine(8, 8);
  await page.keyboard.press("Control+Shift+r");
  const menu = page.locator(".action-widget");
  await menu.locator("a", { hasText: "Show Disabled" }).waitFor();
  assert.equal(await menu.locator(".monaco-list-row", { hasText: "Generate backward" }).count(), 0, "it cannot be chosen");
  await bench.shot("refused");
  await page.keyboard.press("Escape");
});

step("a refused kernel is skipped, with its reason in the results", async () => {
  await bench.runTest("refused.py");
  await bench.testRow("refused.py").locator(".codicon-testing-skipped-icon").waitFor();
});

step("a long check is cancelled", async () => {
  await bench.runTest("slow.py");
  await page.locator(".monaco-action-bar a[aria-label^='Cancel Test Run']:visible").first().click();
  await bench.testRow("slow.py").locator(".codicon-testing-skipped-icon").waitFor();
});

step("the server is started again from the palette, and lenses come back", async () => {
  await bench.openFile("softmax.py");
  await bench.command("Triton: Restart Language Server");
  await bench.lens("Check gradients").waitFor();
});
