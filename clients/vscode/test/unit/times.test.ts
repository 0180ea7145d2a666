import assert from "node:assert/strict";
import { test } from "node:test";
import { bytesText, timesSection } from "../../src/times";

const small = { configuration: "# tad time: n=1024", bytes: 8192, forward_ms: 0.004, backward_ms: 0.009 };
const large = { configuration: "# tad time: n=<1 << 24>", bytes: 134217728, forward_ms: 0.05, backward_ms: 0.11 };

test("a mark and a row for each size, forward and backward told apart by shape", () => {
  const html = timesSection([small, large]);
  assert.equal([...html.matchAll(/<circle class="point forward"/g)].length, 2);
  assert.equal([...html.matchAll(/<rect class="point backward"/g)].length, 2);
  assert.equal([...html.matchAll(/<tr><th scope="row">/g)].length, 2);
  assert.match(html, />128 MiB<\/td><td class="number">0.05 ms<\/td><td class="number">2684 GB\/s<\/td><td class="number">0.11 ms</);
  assert.match(html, /n=&lt;1 &lt;&lt; 24&gt;/);
  assert.doesNotMatch(html, /NaN|undefined|Infinity/);
});

test("larger sizes lie further to the right, and longer times higher", () => {
  const places = [...timesSection([small, large]).matchAll(/<circle class="point forward" cx="(\d+)" cy="(\d+)"/g)].map((found) => found.slice(1).map(Number));
  assert.equal(places.length, 2);
  assert.ok((places[0]?.[0] ?? 0) < (places[1]?.[0] ?? 0));
  assert.ok((places[0]?.[1] ?? 0) > (places[1]?.[1] ?? 0));
});

test("one size has no chart, and a forward alone no backward", () => {
  const html = timesSection([{ configuration: "", bytes: 4096, forward_ms: 0.002 }]);
  assert.doesNotMatch(html, /<svg/);
  assert.match(html, /<code>the launch<\/code>/);
  assert.match(html, /–<\/td><\/tr>/);
  assert.equal(timesSection([]), "");
  assert.equal(timesSection(undefined), "");
});

test("bytes in words", () => {
  assert.deepEqual([512, 1536, 5 * 2 ** 30].map(bytesText), ["512 bytes", "1.5 KiB", "5 GiB"]);
});
