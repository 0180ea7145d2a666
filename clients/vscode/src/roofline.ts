// What configurations of a kernel and of its backward can reach on the card, as SVG: a roofline with a point for each, forward and backward, and
// the measured one beside them; and as a table what each takes of a multiprocessor. Pure; colours are classes of the panel's sheet.
import type { CostPoint, Costs, Footprint, MeasuredCost } from "./protocol";
import { at, BOTTOM, HEIGHT, LEFT, powerText, RIGHT, type Scale, scaleOf, short, ticks, TOP, WIDTH } from "./scale";
import { escapeHtml, table } from "./table";

const MOST_NAMED = 12;

function kibibytes(bytes: number): string {
  return bytes >= 1024 ? `${short(bytes / 1024)} KiB` : `${bytes} bytes`;
}

const NEAR = 14; // pixels: labels of marks that are nearer would lie on each other
const LABEL_ROOM = 70; // pixels that a label may take beside its mark

function nameOf(point: CostPoint): string {
  return `${point.kernel}${point.name ? `, ${point.name}` : ""}`;
}

interface Mark {
  isLeft?: boolean; // the label stands left of it
  x: number;
  y: number;
  kind: string;
  label: string;
  title: string;
}

/** Marks that lie on each other share the label of the first: "1, 4". */
function withOneLabel(marks: Mark[]): Mark[] {
  const shown: Mark[] = [];
  for (const one of marks) {
    const other = shown.find((first) => first.label && Math.abs(first.x - one.x) < NEAR && Math.abs(first.y - one.y) < NEAR);
    if (other) other.label += `, ${one.label}`;
    shown.push(other ? { ...one, label: "" } : one);
  }
  // One whose label would lie on the next mark up the roof has it on its other side.
  const named = shown.filter((one) => one.label).sort((a, b) => b.x - a.x);
  for (const [i, one] of named.entries()) {
    const next = named[i - 1];
    one.isLeft = next !== undefined && !next.isLeft && next.x - one.x < LABEL_ROOM && Math.abs(next.y - one.y) < 2 * NEAR;
  }
  return shown;
}

/** Forward a circle, backward a square, measured a cross: told by more than colour. */
function mark({ isLeft, x, y, kind, label, title }: Mark): string {
  const hint = `<title>${escapeHtml(title)}</title>`;
  const shape =
    kind === "measured"
      ? `<path class="point measured" d="M${x - 5} ${y - 5}l10 10m0 -10l-10 10">${hint}</path>`
      : kind === "backward"
        ? `<rect class="point backward" x="${x - 4.5}" y="${y - 4.5}" width="9" height="9">${hint}</rect>`
        : `<circle class="point forward" cx="${x}" cy="${y}" r="5">${hint}</circle>`;
  const isBefore = isLeft || x > WIDTH * 0.8;
  if (!label) return shape;
  return `${shape}<text x="${isBefore ? x - 9 : x + 9}" y="${isLeft ? y - 5 : y + 4}" class="program" text-anchor="${isBefore ? "end" : "start"}">${label}</text>`;
}

/** The bend of the roof of each peak, and the roof itself. */
function roofs(peaks: number[], memory: number, across: Scale, x: (n: number) => number, y: (n: number) => number): string {
  const first = 10 ** across.low;
  const last = 10 ** across.high;
  return peaks
    .map((peak) => {
      const bend = Math.min(last, Math.max(first, (peak * 1000) / memory));
      const start = Math.min(peak, (first * memory) / 1000);
      const end = Math.min(peak, (last * memory) / 1000);
      return `<path class="roof" d="M${x(first)} ${y(start)}L${x(bend)} ${y(Math.min(peak, (bend * memory) / 1000))}L${x(last)} ${y(end)}"/>`;
    })
    .join("");
}

function picture(points: CostPoint[], memory: number, numbers: Map<CostPoint, number>, measured: MeasuredCost | undefined): string {
  const drawn = points.filter((point) => (point.flop_per_byte ?? 0) > 0 && point.reachable_tflop_s !== undefined);
  const peaks = [...new Set(drawn.map((point) => point.peak_tflop_s ?? 0))].filter((peak) => peak > 0);
  if (drawn.length === 0 || peaks.length === 0) return "";
  const hasMeasured = measured?.flop_per_byte !== undefined && measured.tflop_s !== undefined && measured.flop_per_byte > 0;
  const intensities = drawn.map((point) => point.flop_per_byte ?? 1);
  const speeds = drawn.map((point) => point.reachable_tflop_s ?? 1);
  if (hasMeasured) {
    intensities.push(measured.flop_per_byte ?? 1);
    speeds.push(measured.tflop_s ?? 1);
  }
  const across = scaleOf([...intensities, ...peaks.map((peak) => (2000 * peak) / memory)]);
  const up = scaleOf([...speeds, ...peaks]);
  const x = (number: number): number => Math.round(LEFT + at(across, number) * (WIDTH - LEFT - RIGHT));
  const y = (number: number): number => Math.round(HEIGHT - BOTTOM - at(up, number) * (HEIGHT - TOP - BOTTOM));
  const grid =
    ticks(across, (n) => `<path class="grid" d="M${x(n)} ${TOP}V${HEIGHT - BOTTOM}"/><text x="${x(n)}" y="${HEIGHT - BOTTOM + 15}" text-anchor="middle">${powerText(n)}</text>`) +
    ticks(up, (n) => `<path class="grid" d="M${LEFT} ${y(n)}H${WIDTH - RIGHT}"/><text x="${LEFT - 8}" y="${y(n) + 4}" text-anchor="end">${powerText(n)}</text>`) +
    `<text x="${(LEFT + WIDTH - RIGHT) / 2}" y="${HEIGHT - 6}" text-anchor="middle">operations a byte</text>` +
    `<text x="12" y="${HEIGHT / 2}" text-anchor="middle" transform="rotate(-90 12 ${HEIGHT / 2})">TFLOP/s</text>`;
  // Points at one place have one mark with all their numbers.
  const places = new Map<string, { point: CostPoint; all: CostPoint[] }>();
  for (const point of drawn) {
    const key = `${point.side} ${x(point.flop_per_byte ?? 1)} ${y(point.reachable_tflop_s ?? 1)}`;
    const place = places.get(key);
    if (place) place.all.push(point);
    else places.set(key, { point, all: [point] });
  }
  const marks: Mark[] = [...places.values()].map(({ point, all }) => {
    const shown = all.map((one) => numbers.get(one) ?? 0);
    const label = shown.length > 3 ? `${shown[0]} … ${shown[shown.length - 1]}` : shown.join(", ");
    return {
      x: x(point.flop_per_byte ?? 1),
      y: y(point.reachable_tflop_s ?? 1),
      kind: point.side,
      label,
      title: all.map((one) => `${nameOf(one)}: ${short(one.flop_per_byte ?? 0)} operations a byte, ${short(one.reachable_tflop_s ?? 0)} TFLOP/s without caches`).join("\n"),
    };
  });
  if (hasMeasured)
    marks.push({
      x: x(measured.flop_per_byte ?? 1),
      y: y(measured.tflop_s ?? 1),
      kind: "measured",
      label: "measured",
      title: `measured: ${short(measured.flop_per_byte ?? 0)} operations a byte, ${short(measured.tflop_s ?? 0)} TFLOP/s`,
    });
  const label = `Roofline: ${drawn.length} ${drawn.length === 1 ? "point" : "points"}; the table below has their numbers`;
  return `<svg class="roofline" viewBox="0 0 ${WIDTH} ${HEIGHT}" width="${WIDTH}" height="${HEIGHT}" role="img" aria-label="${label}">${grid}${roofs(peaks, memory, across, x, y)}${withOneLabel(marks).map(mark).join("")}</svg>`;
}

function footprintCells(footprint: Footprint | null, limit: number | undefined): string {
  if (!footprint) return '<td class="number quiet">–</td>'.repeat(4);
  const isTooMuch = limit !== undefined && footprint.shared_bytes > limit;
  const about = footprint.estimated ? "≈ " : "";
  const atOnce = footprint.programs_at_once
    ? `${footprint.programs_at_once} (${Math.round(100 * footprint.occupancy)} %), by ${footprint.limited_by}`
    : "none";
  return (
    `<td class="number">${footprint.warps}, ${footprint.stages}</td>` +
    `<td class="number${isTooMuch ? " bad" : ""}">${about}${kibibytes(footprint.shared_bytes)}</td>` +
    `<td class="number">${about}${footprint.registers}${footprint.spills ? ", spills" : ""}</td>` +
    `<td class="text short">${escapeHtml(atOnce)}</td>`
  );
}

/** The kernel's name once, above its points. */
function rowsOf(points: CostPoint[], numbers: Map<CostPoint, number>, limit: number | undefined): string[] {
  return points.flatMap((point, i) => {
    const isFirst = points[i - 1]?.kernel !== point.kernel;
    const name = `<tr><th scope="rowgroup" colspan="7"><code>${escapeHtml(point.kernel)}</code></th></tr>`;
    return [...(isFirst ? [name] : []), row(point, numbers.get(point) ?? 0, limit)];
  });
}

function row(point: CostPoint, number: number, limit: number | undefined): string {
  const share = point.reachable_tflop_s !== undefined && point.peak_tflop_s ? (100 * point.reachable_tflop_s) / point.peak_tflop_s : undefined;
  return (
    `<tr><th scope="row">${number}: ${escapeHtml(point.name || "as it is launched")}</th>` +
    `<td class="number">${point.flop_per_byte === undefined ? "–" : short(point.flop_per_byte)}</td>` +
    `<td class="number">${share === undefined ? "–" : `${short(share)} %`}</td>` +
    footprintCells(point.footprint, limit) +
    "</tr>"
  );
}

/** Of the last timing: what the compiler gave the kernel, and what it reached. */
function measuredWords(measured: MeasuredCost | undefined): string {
  if (!measured) return "";
  const parts = [
    measured.tflop_s !== undefined ? `${short(measured.tflop_s)} TFLOP/s` : "",
    measured.gb_s !== undefined ? `${short(measured.gb_s)} GB/s` : "",
    measured.shared_bytes !== undefined ? `${kibibytes(measured.shared_bytes)} of shared memory` : "",
    measured.registers !== undefined ? `${measured.registers} registers a thread` : "",
  ].filter(Boolean);
  const where = measured.configuration ? ` (${escapeHtml(measured.configuration)})` : "";
  return parts.length ? `<p>Measured, and as the compiler says${where}: ${parts.join(", ")}.</p>` : "";
}

/** The roofline and its table; empty text where nothing is known. */
export function costSection(costs: Costs): string {
  const { card, points, measured } = costs;
  if (points.length === 0) return "";
  if (!card) return '<p class="quiet">Name the card for a roofline: <code>card = "h100"</code> in <code>[tool.tad]</code>.</p>' + measuredWords(measured);
  const shown = points.slice(0, MOST_NAMED);
  const numbers = new Map(shown.map((point, index) => [point, index + 1]));
  const rows = rowsOf(shown, numbers, card.shared_bytes);
  const heads: [string, string?][] = [
    ["configuration"],
    ["operations a byte", "number"],
    ["of the peak, without caches", "number"],
    ["warps, stages", "number"],
    ["shared memory", "number"],
    ["registers a thread", "number"],
    ["programs at once"],
  ];
  const more = points.length > shown.length ? `<p class="quiet">${points.length - shown.length} more are not shown.</p>` : "";
  return (
    `<p class="quiet">Estimates for ${escapeHtml(card.title)}, with each byte that a program asks for counted as one of memory: where caches serve some, more can be reached. ` +
    "Circles are of the forward, squares of the backward; a cross was measured, with each byte of the tensors counted once.</p>" +
    `<div class="wide">${picture(shown, card.memory_gb_s, numbers, measured)}</div>` +
    measuredWords(measured) +
    table(heads, rows) +
    more
  );
}
