// The story of a kernel author, by keys and clicks on the page of a real VS Code: each step goes on where the last one ended.
import assert from "node:assert/strict";
import { appendFileSync, existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before } from "node:test";
import { Editor, PATIENCE_MS, Workbench } from "../editor.mjs";
import { stepsOn } from "../steps.mjs";

const stage = {};
const step = stepsOn(stage);
let editor, page, bench;
let refusal; // how the reason begins why refused.py has no backward

before(async () => {
  editor = stage.editor = await Editor.start({ vsix: process.env.TAD_VSIX, trusted: true });
  page = await editor.page({ file: "softmax.py", viewport: { width: 1200, height: 780 } });
  bench = stage.bench = new Workbench(page);
});

after(() => editor?.stop());

async function until(condition, what) {
  const deadline = Date.now() + PATIENCE_MS;
  while (!(await condition())) {
    assert.ok(Date.now() < deadline, `waited in vain for ${what}`);
    await page.waitForTimeout(50);
  }
}

/** Number, from one, of the line that holds `part`. */
function lineOf(text, part) {
  const line = text.split("\n").findIndex((candidate) => candidate.includes(part)) + 1;
  assert.ok(line > 0, `there is no ${part}`);
  return line;
}

/** `name[i, j] = value` in one side of a diff editor. */
async function elementIn(diff, side) {
  const text = (await diff.locator(`.editor.${side} .view-line`).first().innerText()).replaceAll("\u00a0", " ");
  const [, name, value] = /^(d\w+\[[\d, ]+\]) = (\S+)$/.exec(text.trim()) ?? assert.fail(`${text} is no element`);
  return { name, value: Number(value) };
}

/** Expected and actual in a diff editor: one element, the second half the first. */
async function expectHalf(diff) {
  for (const side of ["original", "modified"]) await diff.locator(`.editor.${side} .view-line`, { hasText: /\]\s=\s/ }).first().waitFor();
  const [expected, actual] = await Promise.all([elementIn(diff, "original"), elementIn(diff, "modified")]);
  assert.equal(expected.name, actual.name);
  assert.ok(Math.abs(actual.value / expected.value - 0.5) < 1e-4, `${actual.value} is half of ${expected.value}`);
}

/** Accepts or discards the preview of the backward: it closes. */
async function answerPreview(answer) {
  const preview = page.locator(".tab", { hasText: "backward of softmax_kernel" });
  const click = () => page.locator(`.editor-actions a[aria-label^="${answer} Backward"]`).first().click({ timeout: 5000 });
  await bench.act(`${answer} Backward`, click, page.locator("body").filter({ hasNot: preview }));
}

step("a kernel opens with lenses over it and shapes beside its names", async () => {
  await bench.ready();
  await bench.editorOf("softmax.py");
  await bench.lens("Generate backward").waitFor();
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
  await bench.act("closing the parameter hints", () => page.keyboard.press("Escape"), page.locator("body:not(:has(.parameter-hints-widget.visible))"));
  await bench.hover(squiggle, "no parameter `mosk`");
  await bench.shot("finding");
  // The code in the hover leads to its page.
  const pageTab = page.locator(".tab.active", { hasText: "wrong-argument" });
  const follow = async () => {
    await bench.hover(squiggle, "no parameter `mosk`");
    await page.locator(".monaco-hover:visible a", { hasText: "wrong-argument" }).first().click({ timeout: 5000 });
  };
  await bench.act("the link to the page", follow, pageTab);
  await bench.panel().locator("h1", { hasText: "wrong-argument" }).first().waitFor();
  await bench.closeTab("wrong-argument");
  await bench.goToLine(17);
  await page.keyboard.press("End");
  await page.keyboard.press("ArrowLeft");
  for (let i = 0; i < ", mosk=1".length; i++) await page.keyboard.press("Backspace");
  await squiggle.waitFor({ state: "detached" });
  await page.keyboard.press("Home"); // what stands at the line's end may have scrolled the names away
});

step("hover over a name says what it is", async () => {
  await bench.hover(page.locator(".view-line span", { hasText: /^\s*numerator$/ }).first(), /numerator.*BLOCK/);
  await bench.shot("hover");
  await page.keyboard.press("Escape");
});

step("the lens shows the new module beside its forward, and Accept writes it", async () => {
  await bench.clickLens("Generate backward", page.locator(".tab.active", { hasText: "backward of softmax_kernel" }));
  await page.locator(".view-line", { hasText: "def softmax_kernel_backward" }).first().waitFor();
  assert.equal(await page.locator(".editor-group-container").count(), 2, "the forward stays in sight");
  const file = join(editor.workspace, "softmax_kernel_backward.py");
  assert.ok(!existsSync(file), "nothing is written before it is accepted");
  await bench.shot("preview");
  await answerPreview("Accept");
  await bench.tab("softmax_kernel_backward.py").waitFor();
  await until(() => existsSync(file), "the file that was accepted");
  assert.match(readFileSync(file, "utf8"), /def softmax_kernel_backward\(/);
});

step("the gradients are proved, and both lenses say so", async () => {
  await bench.openFile("softmax.py");
  await bench.lens(/gradients proved, worst/).waitFor();
  await bench.shot("editor");
  await bench.openFile("softmax_kernel_backward.py");
  await until(async () => (await bench.lenses(/gradients proved, worst/).count()) === 2, "the result over the copy and over its backward");
});

step("a backward that was made wrong by hand is refuted: lens, squiggle, Testing view, panel", async () => {
  const name = "softmax_kernel_backward.py";
  const text = readFileSync(join(editor.workspace, name), "utf8");
  const wrong = lineOf(text, "dx = dnumerator * y");
  await bench.openFile(name);
  await bench.goToLine(wrong);
  await page.keyboard.press("End");
  await page.keyboard.type(" * 0.5");
  await bench.goToLine(lineOf(text, "def softmax_kernel_backward("));
  // The failure opens where the wrong gradient is written.
  const peek = page.locator(".zone-widget .monaco-diff-editor");
  await bench.clickLens("check again", peek);
  await page.locator(".squiggly-error").first().waitFor();
  await expectHalf(peek);
  await bench.shot("wrong");
  await bench.closePeek();
  await bench.goToLine(lineOf(text, "def softmax_kernel_backward("));
  await bench.lens(/gradients wrong/).waitFor();
  await bench.runTest(name, bench.testRow(name).locator(".codicon-testing-failed-icon"));
  await peek.waitFor();
  await bench.shot("wrong-testing");
  await bench.closePeek();
  await bench.openFile(name);
  await bench.goToLine(wrong);
  const panel = bench.panel();
  await bench.command("Triton: Show Gradients", page.locator(".tab", { hasText: "Gradients: " }));
  await panel.locator(".status.failed").waitFor();
  await panel.locator("td.bad", { hasText: "differs" }).waitFor();
  await bench.shot("wrong-panel");
  const show = panel.locator("[data-type=open]", { hasText: "Show wrong gradient" });
  await bench.act("showing the wrong gradient", () => show.click({ timeout: 5000 }), bench.atLine(lineOf(text, "tl.store((din_ptr")));
  await bench.closeTab("Gradients: ");
  await bench.editorOf(name);
  await bench.goToLine(wrong);
  await page.keyboard.press("End");
  for (let i = 0; i < " * 0.5".length; i++) await page.keyboard.press("Backspace");
  await bench.save();
  await page.locator(".squiggly-error").first().waitFor({ state: "detached" });
  await bench.command("View: Hide Panel", page.locator(".monaco-workbench.nopanel"));
  await bench.command("View: Show Explorer", page.locator(".explorer-folders-view"));
});

step("an edit makes the result stale, undo makes it good again", async () => {
  appendFileSync(join(editor.workspace, "softmax_kernel_backward.py"), "\n\n# by hand\n");
  await bench.openFile("softmax.py");
  await bench.goToLine(16);
  await page.keyboard.press("End");
  await page.keyboard.type(" * 2.0");
  await bench.lens(/changed since the last check/).waitFor();
  await bench.lens("Update backward").waitFor();
  await bench.shot("stale");
  const written = readFileSync(join(editor.workspace, "softmax_kernel_backward.py"), "utf8");
  await bench.openFile("softmax_kernel_backward.py");
  await bench.goToLine(lineOf(written, "# by hand")); // the editor has what was written on disk
  await bench.goToLine(lineOf(written, "def softmax_kernel_backward("));
  await bench.lens("softmax.py has changed: update backward").waitFor();
  await bench.shot("outdated");
  await bench.clickLens("softmax.py has changed", page.locator(".tab.active", { hasText: "backward of softmax_kernel" }));
  await page.locator(".editor.modified .view-line", { hasText: /\*\s2\.0/ }).first().waitFor();
  await page.locator(".notification-list-item", { hasText: "what was edited by hand was kept (1 place)" }).first().waitFor();
  await bench.shot("update");
  await answerPreview("Discard");
  await bench.openFile("softmax.py");
  await bench.goToLine(16);
  await page.keyboard.press("End");
  for (let i = 0; i < 6; i++) await page.keyboard.press("Backspace");
  await bench.lens(/gradients proved, worst/).waitFor();
  await bench.save();
});

step("the panel has the table of the check and the picture of the schedule", async () => {
  await bench.openFile("layer_norm.py");
  await bench.clickLens("Check gradients", bench.lenses(/gradients proved, worst/));
  await bench.goToLine(29); // a load
  const frame = bench.panel();
  const show = async () => {
    const pick = page.locator(".quick-input-list .monaco-list-row.focused", { hasText: "layer_norm_kernel" });
    await bench.command("Triton: Show Gradients", pick);
    await page.keyboard.press("Enter");
  };
  await bench.act("the panel", show, frame.locator("table tbody tr"));
  assert.match(await frame.locator("h1").innerText(), /layer_norm_kernel/);
  await frame.locator("svg.access rect.lane").first().waitFor();
  const access = frame.locator("figure[aria-label='The access under the cursor']");
  await bench.eventually(async () => assert.match(await access.innerText(), /Line 29, load of X: lane i touches i; coalesced/));
  await frame.locator("svg .element.collides").first().waitFor(); // the weights' gradients, in the forward turned round
  await frame.locator("svg .element.private").first().waitFor();
  await frame.locator("tr", { has: page.locator("th", { hasText: "dX" }), hasText: "A program along grid axis 0" }).first().waitFor(); // who owns it
  // What a screen reader has: headings, buttons, a table with named rows, pictures in words.
  await bench.eventually(async () => {
    const tree = await frame.locator("main").ariaSnapshot();
    for (const part of [/heading "layer_norm_kernel" \[level=1\]/, /button "Check gradients"/, /rowheader "dX"/, /cell "agrees"/, /columnheader "worst error"/, /img "Before: the forward turned round: Programs that differ in program_id\(0\) meet/, /img "After: derived: Each element is written by one program/, /a few programs stores a sum of its own/])
      assert.match(tree, part, tree);
  });
  // The words for a screen reader change when the check that was started by key runs, and again when it is over.
  const spoken = frame.locator("#announcement");
  await spoken.evaluate((element) => {
    element.heard = [];
    new MutationObserver(() => element.heard.push(element.textContent)).observe(element, { childList: true, characterData: true, subtree: true });
  });
  await frame.locator('[data-type="check"]').press("Enter");
  await until(async () => (await spoken.evaluate((element) => element.heard)).some((text) => /proved/.test(text)), "the result in words");
  await frame.locator(".status.proved").waitFor();
  await bench.eventually(async () => assert.equal(await frame.locator(":focus").getAttribute("data-type", { timeout: 5000 }), "check", "the keyboard stays where it was"));
  const sides = "View: Toggle Primary Side Bar Visibility";
  await bench.command(sides, page.locator(".monaco-workbench.nosidebar"));
  await bench.command("Notifications: Clear All Notifications"); // of the update
  await bench.shot("panel");
  for (const [theme, mark] of [["Light Modern", "vs"], ["Dark High Contrast", "hc-black"], ["Dark Modern", "vs-dark"]]) {
    await bench.theme(theme, mark);
    await bench.shot(`panel-${mark}`);
  }
  await bench.command(sides, page.locator(".monaco-workbench:not(.nosidebar)"));
  await frame.locator('[data-type="open"]').click();
  await bench.closeTab("Gradients: ");
});

step("with a card named, the panel has a roofline with a point for each configuration, and the access under the cursor", async () => {
  const project = join(editor.workspace, "pyproject.toml");
  writeFileSync(project, '[tool.tad]\ncard = "h100"\n');
  const text = readFileSync(join(editor.workspace, "matmul.py"), "utf8");
  await bench.openFile("matmul.py");
  await bench.goToLine(lineOf(text, "def linear_kernel"));
  await bench.lens(/21 to 64 FLOP a byte/).waitFor();
  await bench.goToLine(lineOf(text, "x = tl.load(x_ptrs"), 20);
  const frame = bench.panel();
  const show = async () => {
    await bench.command("Triton: Show Gradients");
    await bench.take(page.locator(".quick-input-list .monaco-list-row", { hasText: "linear_kernel" }));
  };
  await bench.act("the panel", show, page.locator(".tab", { hasText: "Gradients: linear_kernel" }));
  await bench.eventually(async () => {
    assert.equal(await frame.locator("svg.roofline circle.forward").count(), 3);
    assert.ok((await frame.locator("svg.roofline rect.backward").count()) >= 3);
    assert.match(await frame.locator("figure[aria-label='The access under the cursor']").innerText(), /load of x_ptr: lane \(i, j\) touches i\*stride_xm \+ j\*stride_xk/);
    assert.match(await frame.locator("table", { hasText: "shared memory" }).innerText(), /linear_kernel_backward_dw_ptr/);
  });
  const sides = "View: Toggle Primary Side Bar Visibility";
  await bench.command(sides, page.locator(".monaco-workbench.nosidebar"));
  await frame.locator("section", { hasText: "The access under the cursor" }).first().evaluate((section) => section.scrollIntoView());
  await bench.shot("roofline");
  await bench.command(sides, page.locator(".monaco-workbench:not(.nosidebar)"));
  await bench.closeTab("Gradients: ");
  rmSync(project);
});

step("the Testing view checks a file and shows each kernel's result", async () => {
  await bench.showTests();
  const row = bench.testRow("layer_norm.py");
  const unfold = async () => {
    await row.click({ timeout: 5000 });
    await page.keyboard.press("ArrowRight");
  };
  await bench.act("unfolding the file's row", unfold, bench.testRow("layer_norm_row_kernel"));
  await bench.runTest("layer_norm.py", bench.testRow("layer_norm_row_kernel").locator(".codicon-testing-passed-icon"));
  await row.locator(".codicon-testing-passed-icon").waitFor();
  await bench.shot("testing");
});

step("where the rules refuse, the light bulb has the action disabled, and the lens says the reason", async () => {
  await bench.openFile("refused.py");
  refusal = /no backward: (.{24})/.exec((await bench.lens(/no backward: /).innerText()).replaceAll("\u00a0", " "))[1].replaceAll("`", "");
  await bench.goToLine(8, 8);
  const menu = page.locator(".action-widget");
  const offer = menu.locator(".monaco-list-row", { hasText: "Generate backward" });
  const disabled = menu.locator("a", { hasText: "Show Disabled" });
  const showDisabled = async () => {
    await page.keyboard.press("Control+Shift+r");
    await disabled.waitFor({ timeout: 20_000 });
    assert.equal(await offer.count(), 0, "it cannot be chosen");
    await bench.clickAt(disabled); // a menu takes clicks only once the mouse moved over it
  };
  await bench.act("the disabled actions", showDisabled, offer);
  assert.match(await offer.first().getAttribute("class"), /option-disabled/);
  assert.ok((await offer.first().innerText()).replaceAll("`", "").includes(refusal), "with the reason");
  await bench.shot("refused");
  await page.keyboard.press("Escape");
});

step("the panel of a refused kernel says so, and offers nothing that cannot be had", async () => {
  const panel = bench.panel();
  await bench.openFile("refused.py");
  await bench.command("Triton: Show Gradients", page.locator(".tab", { hasText: "Gradients: " }));
  await panel.locator(".status.refused").waitFor();
  await bench.eventually(async () => {
    const header = await panel.locator("header").innerText();
    assert.match(header, /No backward/);
    assert.ok(header.toLowerCase().includes(refusal.toLowerCase()), `${header} has ${refusal}`);
    for (const type of ["check", "preview"]) assert.equal(await panel.locator(`[data-type=${type}]`).getAttribute("aria-disabled"), "true");
  });
  // It follows the text: a store instead of the atomic has a backward.
  const text = readFileSync(join(editor.workspace, "refused.py"), "utf8");
  await bench.act("showing the kernel", () => panel.locator("[data-type=open]").click({ timeout: 5000 }), bench.atLine(lineOf(text, "def largest_kernel")));
  await bench.goToLine(lineOf(text, "tl.atomic_max"), 5);
  for (let i = 0; i < "tl.atomic_max".length; i++) await page.keyboard.press("Delete");
  await page.keyboard.type("tl.store");
  await panel.locator("figure").waitFor();
  await page.keyboard.press("Escape");
  for (let i = 0; i < "tl.store".length; i++) await page.keyboard.press("Backspace");
  await page.keyboard.type("tl.atomic_max");
  await page.keyboard.press("Escape");
  await panel.locator(".status.refused").waitFor();
  await bench.save();
  await bench.closeTab("Gradients: ");
});

step("a refused kernel is skipped, with its reason in the results", async () => {
  await bench.runTest("refused.py", bench.testRow("refused.py").locator(".codicon-testing-skipped-icon"));
});

step("a long check is cancelled", async () => {
  const cancel = page.locator(".monaco-action-bar a[aria-label^='Cancel Test Run']:visible");
  await bench.runTest("slow.py", cancel);
  const skipped = bench.testRow("slow.py").locator(".codicon-testing-skipped-icon");
  await bench.act("cancelling", () => cancel.first().click({ timeout: 5000 }), skipped);
});

step("the server is started again from the palette, and lenses come back", async () => {
  await bench.openFile("softmax.py");
  const verified = bench.lens(/gradients proved/);
  if ((await verified.count()) === 0) await bench.clickLens("Check gradients", verified);
  await bench.command("Triton: Restart Language Server");
  await verified.waitFor({ state: "detached" }); // the new server knows of no check
  await bench.lens("Check gradients").waitFor();
});
