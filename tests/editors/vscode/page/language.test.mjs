// What a language server is to an author day by day, by keys and clicks on the page of a real VS Code.
import assert from "node:assert/strict";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before } from "node:test";
import { Editor, Workbench } from "../editor.mjs";
import { stepsOn } from "../steps.mjs";

const stage = {};
const step = stepsOn(stage);
let editor, page, bench;

before(async () => {
  editor = stage.editor = await Editor.start({ vsix: process.env.TAD_VSIX, trusted: true });
  page = await editor.page({ file: "softmax.py", viewport: { width: 1440, height: 780 } });
  bench = stage.bench = new Workbench(page);
  await bench.ready();
  await bench.editorOf("softmax.py");
  await bench.lens("Generate backward").waitFor();
});

after(() => editor?.stop());

/** Where a file of the workspace, as it is on disk, has `part`: line and column from one. */
function placeOf(name, part) {
  const before = readFileSync(join(editor.workspace, name), "utf8").split(part, 2);
  assert.equal(before.length, 2, `there is no ${part} in ${name}`);
  const lines = before[0].split("\n");
  return [lines.length, lines.at(-1).length + 1];
}

async function goTo(name, part, inside = 1) {
  const [line, column] = placeOf(name, part);
  await bench.openFile(name);
  await bench.goToLine(line, column + inside);
}

const codeLine = (text) => page.locator(".editor-group-container .view-line", { hasText: text }).first();
const plain = (text) => text.replaceAll("\u00a0", " ");

step("a name is renamed in all its uses, and not to one that is taken", async () => {
  await goTo("softmax.py", "numerator = ");
  const box = page.locator(".rename-box input:visible");
  await bench.act("the box for the new name", () => page.keyboard.press("F2"), box);
  await box.fill("weights");
  await bench.shot("rename");
  await page.keyboard.press("Enter");
  await codeLine(/y.*=\sweights\s\/\stl\.sum\(weights/).waitFor();
  await bench.act("undoing it", () => page.keyboard.press("Control+z"), codeLine(/y.*=\snumerator\s\/\stl\.sum\(numerator/));
  await goTo("softmax.py", "numerator = ");
  await bench.act("the box for the new name", () => page.keyboard.press("F2"), box);
  await box.fill("x");
  await page.keyboard.press("Enter");
  await page.locator(".notification-list-item", { hasText: "`x` is used on line" }).waitFor();
  await bench.command("Notifications: Clear All Notifications");
  await page.locator(".notification-list-item").first().waitFor({ state: "detached" });
  await bench.command("File: Revert File");
});

step("settings complete the names of findings, and those of a comment do, too", async () => {
  const folder = join(editor.workspace, ".vscode");
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "settings.json"), '{\n  "tad.diagnostics.severity": {\n    \n  }\n}\n');
  const row = (name) => page.locator(".suggest-widget.visible .monaco-list-row", { hasText: name });
  await bench.openFile("settings.json");
  await bench.goToLine(3, 5);
  await bench.act("names of findings", () => page.keyboard.type('"unmasked-l', { delay: 60 }), row("unmasked-load"));
  await bench.shot("settings-severity");
  await bench.dismiss(page.locator(".suggest-widget.visible"));
  await bench.command("File: Revert File");
  rmSync(folder, { recursive: true });
  await goTo("softmax.py", "row = tl.program_id(0)");
  await page.keyboard.press("End");
  await bench.act("names in a comment", () => page.keyboard.type("  # tad: ignore[unmasked-l", { delay: 60 }), row("unmasked-load"));
  await bench.dismiss(page.locator(".suggest-widget.visible"));
  await bench.command("File: Revert File");
});

step("the uses of a name are listed", async () => {
  await goTo("softmax.py", "numerator = ");
  const rows = page.locator(".reference-zone-widget .ref-tree .monaco-list-row");
  await bench.act("the uses", () => page.keyboard.press("Shift+F12"), rows);
  const uses = ["numerator = tl.exp(x - tl.max(x, axis=0))", "y = numerator / tl.sum(numerator, axis=0)", "tl.sum(numerator, axis=0)"];
  await bench.eventually(async () => assert.deepEqual((await rows.allInnerTexts()).map(plain), uses));
  await bench.shot("references");
  await bench.closePeek();
});

step("a line of the backward leads to the forward line, and back", async () => {
  const name = "softmax_kernel_backward.py";
  await bench.clickLens("Generate backward", page.locator(".tab.active", { hasText: "backward of softmax_kernel" }));
  const accept = () => page.locator('.editor-actions a[aria-label^="Accept Backward"]').first().click({ timeout: 5000 });
  await bench.act("accepting the backward", accept, bench.tab(name));
  await bench.lens(/gradients proved, worst/).waitFor();
  await goTo(name, "dnumerator = ");
  await bench.command("Go to Definition", bench.atLine(placeOf(name, "numerator = ")[0]));
  const peek = page.locator(".reference-zone-widget .ref-tree .monaco-list-row", { hasText: "dnumerator = " });
  await bench.command("Peek Declaration", peek);
  await bench.shot("peek");
  await bench.closePeek();
  await goTo("softmax.py", "numerator = ");
  await bench.command("Go to Declaration", bench.tab(name));
  await bench.atLine(placeOf(name, "dnumerator = ")[0]).waitFor();
  await bench.closeTab(name);
});

step("a problem is mended from the light bulb, and by Ctrl+.", async () => {
  await goTo("softmax.py", ", mask=mask, other=-float", 0);
  await page.keyboard.press("Shift+End");
  await page.keyboard.type(")");
  await codeLine(/in_stride\s\+\scols\)/).waitFor();
  await page.locator(".squiggly-warning").first().waitFor();
  // The bulb stands in the indentation, which a cursor far to the right scrolls away. It comes anew when the cursor moves.
  const [line, column] = placeOf("softmax.py", "in_ptr + row * in_stride + cols, mask=mask, other=-float");
  const offer = page.locator(".action-widget .monaco-list-row", { hasText: 'Add `mask=mask, other=-float("inf")`' });
  const group = page.locator(".editor-group-container.active");
  const bulb = group.locator(".lightBulbWidget:visible, .glyph-margin-widgets [class*=gutter-lightbulb]:visible").first();
  const menu = async () => {
    await bench.goToLine(line, 1);
    await bench.goToLine(line, column);
    await bulb.click({ timeout: 5000 });
  };
  await bench.act("the light bulb's menu", menu, offer);
  await bench.shot("quickfix");
  await bench.dismiss(offer);
  // Enter takes the row that has the focus: not before that is the offer.
  const byKeys = async () => {
    await page.keyboard.press("Control+.");
    await page.locator(".action-widget .monaco-list-row.focused", { hasText: "Add `mask=mask" }).waitFor({ timeout: 20_000 });
    await page.keyboard.press("Enter");
  };
  await bench.act("Ctrl+. and Enter", byKeys, codeLine(/cols,\smask=mask,\sother=-float\("inf"\)\)/));
  await page.locator(".squiggly-warning").first().waitFor({ state: "detached" });
  await bench.save();
});

step("the calls of a kernel are a tree", async () => {
  await goTo("layer_norm.py", "layer_norm_kernel(");
  const row = (text) => page.locator(".call-hierarchy .monaco-list-row, .tree-view .monaco-list-row, .pane-body .monaco-list-row", { hasText: text });
  await bench.command("Calls: Show Call Hierarchy", row(/^layer_norm$/));
  await bench.shot("calls");
  await bench.command("View: Show Explorer", page.locator(".explorer-folders-view"));
});

step("kernels fold", async () => {
  await bench.openFile("layer_norm.py");
  await bench.command("Fold All", page.locator(".view-line .inline-folded, .inline-folded").first());
  await page.locator(".view-line:visible", { hasText: "tl.program_id" }).first().waitFor({ state: "detached" });
  await bench.shot("folded");
  await bench.command("Unfold All", codeLine("tl.program_id"));
});

step("constexpr, pointer, tile and scalar are told apart in dark and light themes", async () => {
  await bench.openFile("softmax.py");
  const look = async (text) => {
    const word = page.locator(".editor-instance .view-line span span", { hasText: new RegExp(`^\\s*${text}\\s*$`) }).first();
    await word.waitFor();
    return word.evaluate((element) => `${getComputedStyle(element).color} ${getComputedStyle(element).fontStyle}`);
  };
  for (const [theme, mark] of [["Light Modern", "vs"], ["Dark Modern", "vs-dark"]]) {
    await bench.theme(theme, mark);
    await page.waitForTimeout(1000); // colours fade in, and the server's come after those of the grammar
    await bench.eventually(async () => {
      const looks = await Promise.all(["BLOCK", "in_ptr", "numerator", "in_stride"].map(look));
      assert.equal(new Set(looks).size, looks.length, `${theme}: ${looks.join(", ")}`);
    });
    await bench.shot(`tokens-${mark}`);
  }
});

step("cells of a notebook have shapes and findings, and magic lines are none", async () => {
  const cell = page.locator(".notebook-editor, .notebookOverlay").locator(".view-line");
  await bench.act("opening the notebook", () => bench.choose("Control+p", "cells.ipynb", "cells.ipynb"), cell);
  await cell.filter({ hasText: /offsets.*\[BLOCK\]/ }).first().waitFor();
  await bench.lens("Generate backward").waitFor();
  assert.equal(await page.locator(".squiggly-error, .squiggly-warning").count(), 0);
  await bench.shot("notebook");
  await cell.filter({ hasText: "tl.load" }).first().click();
  await page.keyboard.press("End");
  await page.keyboard.press("ArrowLeft");
  await page.keyboard.type(", mosk=1");
  await page.locator(".squiggly-error").first().waitFor();
});
