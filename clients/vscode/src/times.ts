// Times of a kernel over its size, as SVG and as a table: forward a circle, backward a square, both axes by powers of ten. Pure; colours are
// classes of the panel's sheet.
import type { TimedSize } from "./protocol";
import { at, BOTTOM, HEIGHT, LEFT, powerText, RIGHT, scaleOf, short, ticks, TOP, WIDTH } from "./scale";
import { escapeHtml, table } from "./table";

const SIDES = ["forward", "backward"] as const;
const UNITS = ["bytes", "KiB", "MiB", "GiB", "TiB"];

export function bytesText(bytes: number): string {
  let unit = 0;
  for (; bytes >= 1024 && unit < UNITS.length - 1; unit++) bytes /= 1024;
  return `${short(bytes)} ${UNITS[unit]}`;
}

function timeOf(size: TimedSize, side: (typeof SIDES)[number]): number | undefined {
  return side === "forward" ? size.forward_ms : size.backward_ms;
}

function picture(sizes: TimedSize[]): string {
  const times = sizes.flatMap((size) => SIDES.map((side) => timeOf(size, side) ?? 0)).filter((time) => time > 0);
  const across = scaleOf(sizes.map((size) => size.bytes / 2 ** 20));
  const up = scaleOf(times);
  const x = (number: number): number => Math.round(LEFT + at(across, number) * (WIDTH - LEFT - RIGHT));
  const y = (number: number): number => Math.round(HEIGHT - BOTTOM - at(up, number) * (HEIGHT - TOP - BOTTOM));
  const grid =
    ticks(across, (n) => `<path class="grid" d="M${x(n)} ${TOP}V${HEIGHT - BOTTOM}"/><text x="${x(n)}" y="${HEIGHT - BOTTOM + 15}" text-anchor="middle">${powerText(n)}</text>`) +
    ticks(up, (n) => `<path class="grid" d="M${LEFT} ${y(n)}H${WIDTH - RIGHT}"/><text x="${LEFT - 8}" y="${y(n) + 4}" text-anchor="end">${powerText(n)}</text>`) +
    `<text x="${(LEFT + WIDTH - RIGHT) / 2}" y="${HEIGHT - 6}" text-anchor="middle">MiB that the forward moves</text>` +
    `<text x="12" y="${HEIGHT / 2}" text-anchor="middle" transform="rotate(-90 12 ${HEIGHT / 2})">milliseconds</text>`;
  const series = SIDES.map((side) => {
    const points = sizes.flatMap((size) => {
      const time = timeOf(size, side);
      return time ? [{ size, time, x: x(size.bytes / 2 ** 20), y: y(time) }] : [];
    });
    const line = points.length > 1 ? `<path class="roof" d="${points.map((point, i) => `${i ? "L" : "M"}${point.x} ${point.y}`).join("")}"/>` : "";
    const marks = points.map((point) => {
      const hint = `<title>${escapeHtml(`${side}, ${bytesText(point.size.bytes)}: ${short(point.time)} ms`)}</title>`;
      return side === "forward"
        ? `<circle class="point forward" cx="${point.x}" cy="${point.y}" r="5">${hint}</circle>`
        : `<rect class="point backward" x="${point.x - 4.5}" y="${point.y - 4.5}" width="9" height="9">${hint}</rect>`;
    });
    return line + marks.join("");
  });
  const label = `Time over size: ${sizes.length} sizes; the table below has their numbers`;
  return `<svg class="roofline" viewBox="0 0 ${WIDTH} ${HEIGHT}" width="${WIDTH}" height="${HEIGHT}" role="img" aria-label="${label}">${grid}${series.join("")}</svg>`;
}

/** The chart, of two sizes or more, and its table; empty text where nothing was timed. */
export function timesSection(sizes: TimedSize[] | undefined): string {
  if (!sizes?.length) return "";
  const milliseconds = (time: number | undefined): string => `<td class="number">${time === undefined ? "–" : `${short(time)} ms`}</td>`;
  const rate = (size: TimedSize): string => `<td class="number">${size.forward_ms ? `${short(size.bytes / size.forward_ms / 1e6)} GB/s` : "–"}</td>`;
  const rows = sizes.map(
    (size) =>
      `<tr><th scope="row"><code>${escapeHtml(size.configuration || "the launch")}</code></th><td class="number">${bytesText(size.bytes)}</td>` +
      milliseconds(size.forward_ms) +
      rate(size) +
      milliseconds(size.backward_ms) +
      "</tr>",
  );
  const more = sizes.length === 1 ? '<p class="quiet">Time it at another size (<code># tad time: ...</code>) for a chart.</p>' : `<p class="quiet">As it was timed since the server started. Circles are of the forward, squares of the backward.</p><div class="wide">${picture(sizes)}</div>`;
  return more + table([["sizes"], ["forward moves", "number"], ["forward", "number"], ["of it", "number"], ["backward", "number"]], rows);
}
