import assert from "node:assert/strict";
import { test } from "node:test";
import { accessPicture } from "../../src/access";
import type { Access } from "../../src/protocol";

const range = { start: { line: 8, character: 4 }, end: { line: 8, character: 20 } };
const row: Access = {
  kernel: "k",
  range,
  kind: "load",
  pointer: "x_ptr",
  lanes: "coalesced",
  configuration: "configuration 1",
  known: true,
  masked: true,
  type_open: true,
  element_bytes: 2,
  bytes: { text: "2*BLOCK", number: 256 },
  axes: [{ extent: { text: "BLOCK", number: 128 }, stride: { text: "1", number: 1 } }],
  programs: [{ axis: 0, step: { text: "BLOCK", number: 128 } }],
};

function count(text: string, pattern: RegExp): number {
  return [...text.matchAll(pattern)].length;
}

test("a row of neighbours: sixteen halves to a sector, two sectors to a warp", () => {
  const html = accessPicture(row);
  assert.equal(count(html, /class="lane even"/g), 16);
  assert.match(html, /32 neighbouring lanes touch 2 sectors of 32 bytes, at 2 bytes an element\./);
  assert.match(html, /begin <code>BLOCK<\/code> elements apart: 0, 128, 256, 384, …/);
  assert.match(html, /Line 9, load of <code>x_ptr<\/code>: lane i touches <code>i<\/code>; coalesced; a mask may leave lanes out\./);
  assert.match(html, /Numbers are those of configuration 1\./);
});

test("lanes far apart have a sector each; a stride that nobody says stays in words", () => {
  const column = { ...row, element_bytes: 4, type_open: false, axes: [{ extent: { text: "4", number: 4 }, stride: { text: "64", number: 64 } }] };
  assert.match(accessPicture(column), /4 neighbouring lanes touch 4 sectors of 32 bytes\./);
  const open = { ...row, axes: [{ extent: { text: "M", number: 16 }, stride: { text: "stride" } }, ...row.axes], programs: [] };
  const html = accessPicture(open);
  assert.match(html, /lane \(i, j\) touches <code>i\*stride \+ j<\/code>/);
  assert.match(html, />2\*stride \+</);
  assert.equal(count(html, /class="lane/g), 4 * 16);
  assert.match(html, /All programs touch the same elements\./);
});

test("a last axis whose stride the launch says is drawn as of a tensor in order, and says so", () => {
  const open = { ...row, axes: [{ extent: { text: "M", number: 16 }, stride: { text: "stride_m" } }, { extent: { text: "K", number: 32 }, stride: { text: "stride_k" } }] };
  const html = accessPicture(open);
  assert.match(html, /lane by lane, where stride_k is 1</);
  assert.match(html, />stride_m \+</);
  assert.match(html, />15</);
  assert.doesNotMatch(html, />\?</);
});

test("what memory says has no picture", () => {
  const html = accessPicture({ ...row, known: false, pointer: undefined, lanes: "gathered", axes: [], programs: [] });
  assert.doesNotMatch(html, /<svg/);
  assert.match(html, /where its lanes are is said by numbers from memory; gathered/);
});

test("names of the code are escaped", () => {
  assert.doesNotMatch(accessPicture({ ...row, pointer: "<img>" }), /<img>/);
});
