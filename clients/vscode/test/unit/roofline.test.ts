import assert from "node:assert/strict";
import { test } from "node:test";
import type { CostPoint, Costs, Footprint } from "../../src/protocol";
import { costSection } from "../../src/roofline";

const footprint: Footprint = {
  estimated: true,
  shared_bytes: 49152,
  registers: 128,
  spills: false,
  warps: 4,
  stages: 3,
  programs_at_once: 4,
  occupancy: 0.25,
  limited_by: "registers",
};
const forward: CostPoint = {
  kernel: "linear",
  side: "forward",
  name: "configuration 1",
  flop_per_byte: 64,
  peak_tflop_s: 989,
  reachable_tflop_s: 214.4,
  footprint,
};
const backward: CostPoint = { ...forward, kernel: "linear_backward", side: "backward", name: "the launch in run", footprint: null };
const costs: Costs = { card: { name: "h100", title: "H100 SXM", memory_gb_s: 3350, shared_bytes: 232448 }, points: [forward, backward] };

function count(text: string, pattern: RegExp): number {
  return [...text.matchAll(pattern)].length;
}

test("a point for each configuration, forward and backward told apart by shape, and a row for each", () => {
  const html = costSection(costs);
  assert.equal(count(html, /<circle class="point forward"/g), 1);
  assert.equal(count(html, /<rect class="point backward"/g), 1);
  assert.equal(count(html, /class="roof"/g), 1);
  assert.equal(count(html, /<tr><th scope="row">/g), 2);
  assert.equal(count(html, /<th scope="rowgroup" colspan="7">/g), 2);
  assert.match(html, /≈ 48 KiB<\/td><td class="number">≈ 128<\/td><td class="text short">4 \(25 %\), by registers</);
  assert.match(html, />21.7 %</);
  assert.doesNotMatch(html, /NaN|undefined/);
});

test("points that lie on each other have one mark with both numbers", () => {
  const html = costSection({ ...costs, points: [forward, { ...forward, name: "configuration 2" }] });
  assert.equal(count(html, /<circle/g), 1);
  assert.match(html, />1, 2<\/text>/);
});

test("a circle and a square on one place share a label, and one with its own name above stands for its kernel once", () => {
  const html = costSection({ ...costs, points: [forward, { ...forward, name: "configuration 2", flop_per_byte: 8, reachable_tflop_s: 26.8 }, backward] });
  assert.match(html, />1, 3<\/text>/);
  assert.match(html, />2<\/text>/);
  assert.equal(count(html, /class="program"/g), 2);
  assert.equal(count(html, /<th scope="rowgroup" colspan="7"><code>linear<\/code>/g), 1);
  assert.match(html, />1: configuration 1</);
});

test("what was measured has a mark of its own, with the compiler's numbers", () => {
  const html = costSection({ ...costs, measured: { configuration: "M = 4096", flop_per_byte: 80, tflop_s: 150, shared_bytes: 50176, registers: 122 } });
  assert.equal(count(html, /class="point measured"/g), 1);
  assert.match(html, /Measured, and as the compiler says \(M = 4096\): 150 TFLOP\/s, 49 KiB of shared memory, 122 registers a thread\./);
});

test("more shared memory than a program may have stands out", () => {
  const html = costSection({ ...costs, points: [{ ...forward, footprint: { ...footprint, shared_bytes: 300000, programs_at_once: 0 } }] });
  assert.match(html, /class="number bad">≈ 293 KiB</);
  assert.match(html, /<td class="text short">none</);
});

test("without a card it says how to name one; without an intensity there is a row and no point", () => {
  assert.match(costSection({ ...costs, card: null }), /card = &quot;h100&quot;|card = "h100"/);
  const open: CostPoint = { kernel: "k", side: "forward", footprint };
  const html = costSection({ ...costs, points: [open] });
  assert.equal(count(html, /<svg/g), 0);
  assert.match(html, /<td class="number">–<\/td>/);
  assert.equal(costSection({ ...costs, points: [] }), "");
});
