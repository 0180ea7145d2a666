// How programs write a gradient, as an SVG: the grid of programs on the left, the elements they write on the right.
// Before: the forward's own schedule turned round. After: the derived one. Pure; colours are classes of the panel's sheet.
import type { GradientSchedule, Schedule, Writes } from "./protocol";
import { escapeHtml } from "./table";

const PROGRAMS = 4; // drawn along each axis: enough to see a pattern
const CELL = 22;
const GAP = 6;
const STEP = CELL + GAP;
const LEFT = 44;
const TOP = 46;
const WIRE = 120;

/** Where the drawn axes put a program: [row, column]. The first axis runs down, the others across. */
interface Program {
  row: number;
  column: number;
  /** Coordinates on the axes, in their order. */
  at: number[];
}

interface Grid {
  axes: number[];
  rows: number;
  columns: number;
  programs: Program[];
}

/** At most two axes are drawn: those that matter to the gradient first. */
function drawnAxes(schedule: Schedule, gradient: GradientSchedule): number[] {
  const all = schedule.axes.map((axis) => axis.axis);
  const shared = new Set([...gradient.before.shared, ...gradient.after.shared]);
  const byInterest = [...all].sort((a, b) => Number(shared.has(b)) - Number(shared.has(a)) || a - b);
  return byInterest.slice(0, 2).sort((a, b) => a - b);
}

function makeGrid(axes: number[]): Grid {
  const rows = axes.length > 1 ? PROGRAMS - 1 : 1;
  const columns = PROGRAMS;
  const programs: Program[] = [];
  for (let row = 0; row < rows; row++)
    for (let column = 0; column < columns; column++)
      programs.push({ row, column, at: axes.length > 1 ? [row, column] : [column] });
  return { axes, rows, columns, programs };
}

/** Programs that agree on every axis of their own write the same element. */
function elementOf(program: Program, grid: Grid, writes: Writes): string {
  return grid.axes.map((axis, i) => (writes.own.includes(axis) ? program.at[i] : "*")).join(",");
}

function line(x1: number, y1: number, x2: number, y2: number, kind: string): string {
  const middle = (x1 + x2) / 2;
  return `<path class="wire ${kind}" d="M${x1} ${y1}C${middle} ${y1} ${middle} ${y2} ${x2} ${y2}"/>`;
}

function text(x: number, y: number, content: string, kind: string, anchor = "start"): string {
  return `<text x="${x}" y="${y}" class="${kind}" text-anchor="${anchor}">${escapeHtml(content)}</text>`;
}

function axisName(schedule: Schedule, axis: number): string {
  const extent = schedule.axes.find((candidate) => candidate.axis === axis)?.extent;
  return extent ? `program_id(${axis}) < ${extent}` : `program_id(${axis})`;
}

/** In one sentence what the picture shows; its text for who cannot see it. */
export function describeWrites(writes: Writes): string {
  if (writes.shared.length === 0) return "Each element is written by one program: a plain store.";
  const axes = writes.shared.map((axis) => `program_id(${axis})`).join(" and ");
  const meet = `Programs that differ in ${axes} meet in the same element`;
  return writes.atomic ? `${meet}: atomic adds.` : `${meet}, in turn.`;
}

interface Drawing {
  svg: string;
  width: number;
  height: number;
}

/** One side of the picture, at (x, 0). */
function drawSide(schedule: Schedule, gradient: GradientSchedule, writes: Writes, title: string, x: number): Drawing {
  const grid = makeGrid(drawnAxes(schedule, gradient));
  const elements = [...new Set(grid.programs.map((program) => elementOf(program, grid, writes)))];
  const height = Math.max(grid.rows, elements.length > grid.columns ? grid.rows : 1) * STEP;
  const elementColumns = elements.length > grid.columns ? grid.columns : elements.length;
  const elementRows = Math.ceil(elements.length / elementColumns);
  const elementsLeft = x + LEFT + grid.columns * STEP + WIRE;
  const elementsTop = TOP + (height - elementRows * STEP) / 2;
  const writers = new Map<string, number>();
  for (const program of grid.programs) {
    const element = elementOf(program, grid, writes);
    writers.set(element, (writers.get(element) ?? 0) + 1);
  }
  const parts: string[] = [text(x, 16, title, "title")];
  const wires: string[] = [];
  for (const program of grid.programs) {
    const element = elementOf(program, grid, writes);
    const at = elements.indexOf(element);
    const kind = (writers.get(element) ?? 1) > 1 ? "collides" : "private";
    const left = x + LEFT + program.column * STEP;
    const top = TOP + program.row * STEP;
    const elementLeft = elementsLeft + (at % elementColumns) * STEP;
    const elementTop = elementsTop + Math.floor(at / elementColumns) * STEP;
    // From below a cell, so that the wires of one row stay apart.
    wires.push(line(left + CELL, top + CELL / 2, elementLeft, elementTop + CELL / 2, kind));
    parts.push(`<rect class="program ${kind}" x="${left}" y="${top}" width="${CELL}" height="${CELL}" rx="3"/>`);
  }
  elements.forEach((element, i) => {
    const left = elementsLeft + (i % elementColumns) * STEP;
    const top = elementsTop + Math.floor(i / elementColumns) * STEP;
    const count = writers.get(element) ?? 1;
    const kind = count > 1 ? "collides" : "private";
    parts.push(`<rect class="element ${kind}" x="${left}" y="${top}" width="${CELL}" height="${CELL}"/>`);
    if (count > 1) parts.push(text(left + CELL / 2, top + CELL / 2 + 4, `×${count}`, "count", "middle"));
  });
  const columnAxis = grid.axes[grid.axes.length - 1];
  if (columnAxis !== undefined)
    parts.push(text(x + LEFT, TOP - 10, `${axisName(schedule, columnAxis)} →`, "axis"));
  if (grid.axes.length > 1 && grid.axes[0] !== undefined)
    parts.push(text(x, TOP + height / 2, `${grid.axes[0]} ↓`, "axis"));
  parts.push(text(elementsLeft, TOP - 10, `d${gradient.input}`, "axis"));
  const width = LEFT + grid.columns * STEP + WIRE + elementColumns * STEP;
  return { svg: wires.join("") + parts.join(""), width, height: TOP + Math.max(height, elementRows * STEP) + 8 };
}

/** The picture of one gradient: before beside after. */
export function gradientPicture(schedule: Schedule, gradient: GradientSchedule): string {
  const before = drawSide(schedule, gradient, gradient.before, "before: the forward turned round", 0);
  const offset = before.width + 40;
  const after = drawSide(schedule, gradient, gradient.after, "after: derived", offset);
  const width = offset + after.width;
  const height = Math.max(before.height, after.height);
  const description = `Before: ${describeWrites(gradient.before)} After: ${describeWrites(gradient.after)}`;
  return (
    `<svg viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${escapeHtml(description)}">` +
    `${before.svg}${after.svg}</svg>`
  );
}

/** All pictures of a kernel, each with its sentence. */
export function schedulePictures(schedule: Schedule): string {
  if (schedule.gradients.length === 0)
    return `<p class="quiet">${escapeHtml(schedule.reason ?? "There is no gradient to write.")}</p>`;
  return schedule.gradients
    .map(
      (gradient) =>
        `<figure tabindex="0"><figcaption><code>d${escapeHtml(gradient.input)}</code> ` +
        `${escapeHtml(gradient.after.why ?? describeWrites(gradient.after))}</figcaption>` +
        `${gradientPicture(schedule, gradient)}</figure>`,
    )
    .join("");
}
