import assert from "node:assert/strict";
import { test } from "node:test";
import type { GradientStatus, InputResult } from "../../src/protocol";
import { configurationTable, inputTable } from "../../src/table";
import { formatError, summary, worstInput } from "../../src/words";

const base: GradientStatus = { uri: "file:///k.py", kernel: "k", status: "proved" };
const right: InputResult = { name: "x", error: 2e-15, directions: 4, worst: null };
const wrong: InputResult = {
  name: "w",
  error: 0.5,
  directions: 4,
  worst: { index: [3, 7], expected: 2, actual: 1 },
};

test("a result in one line", () => {
  assert.equal(
    summary({ ...base, worst_error: 3.14e-9, seconds: 0.42 }),
    "Gradients verified, worst error 3.1e-9, 0.4 s",
  );
  assert.match(summary({ ...base, stale: true }), /earlier text/);
  assert.equal(summary({ ...base, status: "refused", seconds: 1 }), "No backward");
});

test("errors: none is a dash, zero is zero", () => {
  assert.deepEqual([null, undefined, 0, 0.5, 2e-15].map(formatError), ["–", "–", "0", "5.0e-1", "2.0e-15"]);
});

test("the worst input is the one with the largest error that has an element to show", () => {
  assert.equal(worstInput([right, wrong])?.name, "w");
  assert.equal(worstInput([right]), undefined);
  assert.equal(worstInput(undefined), undefined);
});

test("the table has a row for each gradient, with its worst element", () => {
  const html = inputTable({ ...base, inputs: [right, wrong] });
  assert.equal([...html.matchAll(/<tr>/g)].length, 3);
  assert.match(html, /\[3, 7\]<\/td><td class="number">2<\/td><td class="number">1</);
  assert.equal(inputTable(base), "");
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
