import assert from "node:assert/strict";
import { test } from "node:test";
import type { GradientStatus, InputResult } from "../../src/protocol";
import { configurationTable, inputTable } from "../../src/table";
import { formatElement, formatError, settingIn, shortened, summary, worstInput } from "../../src/words";

const base: GradientStatus = { uri: "file:///k.py", kernel: "k", status: "proved" };
const right: InputResult = { name: "x", error: 2e-15, directions: 4, worst: null };
const wrong: InputResult = {
  name: "w",
  error: 0.5,
  directions: 4,
  worst: { index: [3, 7], expected: 2, actual: 1 },
};

test("a message names the setting to change", () => {
  assert.equal(settingIn("no Triton: the setting `tad.python.command`, `--python` or $TAD_PYTHON"), "tad.python.command");
  assert.equal(settingIn("no GPU `here`"), undefined);
});

test("a check that waits, runs, and how far it is", () => {
  assert.equal(summary({ ...base, status: "running", waiting: true, percent: 0 }), "Waiting for a worker");
  assert.equal(summary({ ...base, status: "running", waiting: false, percent: 40 }), "Checking, 40 %");
  assert.equal(summary({ ...base, status: "running" }), "Checking …");
});

test("a result in one line", () => {
  assert.equal(
    summary({ ...base, worst_error: 3.14e-9, seconds: 0.42 }),
    "Gradients proved, worst error 3.1e-9, 0.4 s",
  );
  assert.match(summary({ ...base, stale: true }), /earlier text/);
  assert.match(summary({ ...base, worst_error: 0, seconds: 0.038 }), /, 38 ms$/);
  assert.equal(summary({ ...base, status: "refused", seconds: 1 }), "No backward");
});

test("errors: none is a dash, zero is zero", () => {
  assert.deepEqual([null, undefined, 0, 0.5, 12.34, 2e-15, 1e9].map(formatError), ["–", "–", "0", "0.5", "12", "2.0e-15", "1.0e9"]);
});

test("a text is cut between words", () => {
  assert.equal(shortened("short", 10), "short");
  assert.equal(shortened("one two three", 10), "one two…");
  assert.equal(shortened("abcdefghijkl", 10), "abcdefghi…");
});

test("the worst input is the one with the largest error that has an element to show", () => {
  assert.equal(worstInput([right, wrong])?.name, "w");
  assert.equal(worstInput([right]), undefined);
  assert.equal(worstInput(undefined), undefined);
});

test("the table has a row for each gradient, with its worst element", () => {
  const html = inputTable({ ...base, inputs: [right, wrong] });
  assert.equal([...html.matchAll(/<tr>/g)].length, 3);
  assert.match(html, /\[3, 7\]<\/td><td class="number">2<\/td><td class="number bad">1<\/td><td class="number">0.5</);
  assert.match(html, /dx<\/code><\/th><td class="good">.*✓.*agrees/);
  assert.match(html, /dw<\/code><\/th><td class="bad">.*✗.*differs/);
  assert.equal(inputTable(base), "");
});

test("the table has the error that the summary names, also where it is one of all inputs at once", () => {
  const status: GradientStatus = {
    ...base,
    worst_error: 3e-14,
    inputs: [right, { ...right, name: "w" }],
    together: { error: 3e-14, directions: 5 },
  };
  assert.match(inputTable(status), /all at once<\/th><td class="good">.*agrees<\/td><td class="number">3\.0e-14<\/td><td class="number">5</);
  assert.match(inputTable({ ...status, status: "failed" }), /all at once<\/th><td class="bad">/);
});

test("a gradient that is not finite is the worst", () => {
  const infinite: InputResult = { ...wrong, name: "z", error: null };
  assert.equal(worstInput([wrong, infinite])?.name, "z");
  assert.match(inputTable({ ...base, status: "failed", inputs: [infinite] }), /not finite/);
});

test("where all agree there are no columns for what is wrong", () => {
  const html = inputTable({ ...base, inputs: [right, { name: "b", error: null, directions: 0, worst: null }] });
  assert.ok(!html.includes("expected"));
  assert.match(html, /db<\/code><\/th><td class="quiet">not compared/);
});

test("an element is written as in the code, without the noise of rounding", () => {
  assert.equal(formatElement("w", [3, 7], 0.1 + 0.2), "dw[3, 7] = 0.3");
  assert.equal(formatElement("x", [0], -1.23456789e-9), "dx[0] = -1.23457e-9");
});

test("configurations: what ran and what did not, as text", () => {
  const html = configurationTable({
    ...base,
    configurations: [{ text: "n=<4>", source: "launcher", status: "proved" }],
    discarded: [{ text: "n=0", reason: "out of bounds" }],
  });
  assert.match(html, /n=&lt;4&gt;/);
  assert.match(html, /not run: out of bounds/);
});
