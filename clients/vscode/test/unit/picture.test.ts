import assert from "node:assert/strict";
import { test } from "node:test";
import { describeWrites, gradientPicture, kernelSections, schedulePictures } from "../../src/picture";
import type { GradientSchedule, Schedule, Writes } from "../../src/protocol";

const shared: Writes = { own: [1], shared: [0], atomic: true };
const owned: Writes = { own: [0, 1], shared: [], atomic: false };

function schedule(gradients: GradientSchedule[]): Schedule {
  return { kernel: "k", axes: [{ axis: 0, extent: "n_rows" }, { axis: 1 }], gradients };
}

function count(text: string, pattern: RegExp): number {
  return [...text.matchAll(pattern)].length;
}

test("programs that meet are drawn at one element, with their number", () => {
  const gradient = { input: "w", before: shared, after: owned };
  const svg = gradientPicture(schedule([gradient]), gradient);
  assert.equal(count(svg, /<rect class="program collides"/g), 9, "before: three programs along each of two axes");
  assert.equal(count(svg, /<rect class="element collides"/g), 3, "before: an element for each of the owning axis");
  assert.equal(count(svg, />\+=</g), 3, "before: an atomic add to each");
  assert.equal(count(svg, />=</g), 9, "after: plain stores");
  assert.match(svg, /dw: each element is written by n_rows programs/);
  assert.equal(count(svg, /<rect class="element private"/g), 9, "after: each program its own");
  assert.equal(count(svg, /class="wire/g), 18);
});

test("along one axis, all meet in one element; what did not change is drawn once", () => {
  const all: Writes = { own: [], shared: [0], atomic: true };
  const gradient = { input: "scale", before: all, after: all };
  const one = { kernel: "k", axes: [{ axis: 0 }], gradients: [gradient] };
  const svg = gradientPicture(one, gradient);
  assert.equal(count(svg, /<rect class="program collides"/g), 5);
  assert.equal(count(svg, /<rect class="element collides"/g), 1);
  assert.match(svg, /Before and after/);
  assert.match(svg, /dscale: each element is written by many programs/);
});

test("a picture is as wide as what stands below it", () => {
  const all: Writes = { own: [], shared: [0], atomic: true };
  const gradient = { input: "weight_of_the_projection", before: all, after: all };
  const svg = gradientPicture({ kernel: "k", axes: [{ axis: 0 }], gradients: [gradient] }, gradient);
  const width = Number(/viewBox="0 0 (\d+) /.exec(svg)?.[1]);
  assert.ok(width >= 6 * "dweight_of_the_projection: each element is written by many programs".length, `${width}`);
});

test("gradients whose schedule changed come first, then those that collide", () => {
  const gradients = [
    { input: "same", before: owned, after: owned },
    { input: "atomic", before: shared, after: shared },
    { input: "changed", before: shared, after: owned },
  ];
  const html = schedulePictures(schedule(gradients));
  const order = [...html.matchAll(/aria-label="Gradient d(\w+)"/g)].map((match) => match[1]);
  assert.deepEqual(order, ["changed", "atomic", "same"]);
});

test("the sentence says what the picture shows", () => {
  assert.match(describeWrites(owned), /one program/);
  assert.match(describeWrites(shared), /program_id\(0\).*same element: atomic adds/);
});

test("names of the user's code are text, not markup", () => {
  const gradient = { input: "<b>", before: owned, after: { ...owned, why: "a & b" } };
  const html = schedulePictures(schedule([gradient]));
  assert.ok(!html.includes("<b>"));
  assert.ok(html.includes("&lt;b&gt;") && html.includes("A &amp; b"));
});

test("the kernels of the backward say what they cost, and who owns what", () => {
  const kernels = [
    {
      name: "k_backward",
      work: [{ name: "configuration 2", text: "reads 4 KiB: memory-bound", share: "at most 90 % of the bandwidth and 2 % of the arithmetic of h100" }],
      gradients: [
        { name: "dx_ptr", of: "x_ptr", owner: "a program along grid axis 0" },
        { name: "dw_ptr", of: "w_ptr", why: "programs share `w_ptr` <all>", collisions: "in one element meet all" },
        { name: "db_ptr", of: "b_ptr" },
      ],
    },
  ];
  const html = kernelSections({ ...schedule([]), kernels });
  assert.match(html, /<h3><code>k_backward<\/code><\/h3><p>Configuration 2: a program reads 4 KiB: memory-bound; at most 90 %/);
  assert.match(html, /<code>dx_ptr<\/code><\/th><td class="text">A program along grid axis 0/);
  assert.match(html, /Atomic adds: in one element meet all/);
  assert.match(html, /share <code>w_ptr<\/code> &lt;all&gt;/);
  assert.match(html, /Nothing is stored to it here/);
  const saved = [{ value: "m + tl.log(l)", parameter: "saved_ptr", size: "4 bytes for each row" }];
  assert.match(
    kernelSections({ ...schedule([]), kernels, saved }),
    /The forward also stores <code>m \+ tl.log\(l\)<\/code> in <code>saved_ptr<\/code>, 4 bytes for each row\./,
  );
  assert.equal(kernelSections(schedule([])), "", "an older server says nothing of them");
});
