// How programs write a gradient, as SVG: the programs of a launch above, the elements they write below.
// Before: the forward's own schedule turned round. After: the derived one. Pure; colours are classes of the panel's sheet.
import type { GradientSchedule, Schedule, Writes } from "./protocol";
import { escapeHtml } from "./table";

const BOX = 26;
const STEP = 32;
const GROUP_GAP = 14; // between the programs that differ in the first of two axes
const PROGRAMS_TOP = 44;
const ELEMENTS_TOP = 128;
const HEIGHT = ELEMENTS_TOP + BOX + 4;
const ALONG_ONE_AXIS = 5;
const ALONG_TWO_AXES = 3;

/** A program that is drawn: its place, and its coordinates along the drawn axes. */
interface Program {
  x: number;
  at: number[];
}

/** At most two axes are drawn: those in which programs meet come first. */
function drawnAxes(schedule: Schedule, gradient: GradientSchedule): number[] {
  const shared = new Set([...gradient.before.shared, ...gradient.after.shared]);
  const all = schedule.axes.map((axis) => axis.axis);
  const byInterest = [...all].sort((a, b) => Number(shared.has(b)) - Number(shared.has(a)) || a - b);
  return byInterest.slice(0, 2).sort((a, b) => a - b);
}

function drawnPrograms(axes: number[]): Program[] {
  if (axes.length < 2) return Array.from({ length: ALONG_ONE_AXIS }, (_, i) => ({ x: i * STEP, at: [i] }));
  const programs: Program[] = [];
  for (let first = 0; first < ALONG_TWO_AXES; first++)
    for (let second = 0; second < ALONG_TWO_AXES; second++)
      programs.push({ x: programs.length * STEP + first * GROUP_GAP, at: [first, second] });
  return programs;
}

/** Programs that agree on every axis of their own write the same element. */
function elementOf(program: Program, axes: number[], writes: Writes): string {
  return axes.map((axis, i) => (writes.own.includes(axis) ? program.at[i] : "*")).join(",");
}

function label(x: number, y: number, content: string, kind: string, anchor = "start"): string {
  return `<text x="${x}" y="${y}" class="${kind}" text-anchor="${anchor}">${escapeHtml(content)}</text>`;
}

function box(x: number, y: number, kind: string, content: string): string {
  return (
    `<rect class="${kind}" x="${x}" y="${y}" width="${BOX}" height="${BOX}" rx="4"/>` +
    label(x + BOX / 2, y + BOX / 2 + 4, content, kind, "middle")
  );
}

function axisName(schedule: Schedule, axis: number): string {
  const extent = schedule.axes.find((candidate) => candidate.axis === axis)?.extent;
  return extent ? `program_id(${axis}) < ${extent}` : `program_id(${axis})`;
}

/** In one sentence what the picture shows: its text for who cannot see it. */
export function describeWrites(writes: Writes): string {
  if (writes.shared.length === 0) return "Each element is written by one program: a plain store.";
  const axes = writes.shared.map((axis) => `program_id(${axis})`).join(" and ");
  const meet = `Programs that differ in ${axes} meet in the same element`;
  return writes.atomic ? `${meet}: atomic adds.` : `${meet}, in turn.`;
}

function drawSide(schedule: Schedule, gradient: GradientSchedule, writes: Writes, title: string): string {
  const axes = drawnAxes(schedule, gradient);
  const programs = drawnPrograms(axes);
  const writers = new Map<string, Program[]>();
  for (const program of programs) {
    const element = elementOf(program, axes, writes);
    writers.set(element, [...(writers.get(element) ?? []), program]);
  }
  const width = (programs.at(-1)?.x ?? 0) + BOX;
  const span = writers.size * STEP - (STEP - BOX);
  const isPrivate = writers.size === programs.length;
  const wires: string[] = [];
  const boxes: string[] = [];
  [...writers.values()].forEach((group, i) => {
    const kind = group.length > 1 ? "collides" : "private";
    const left = isPrivate ? (group[0]?.x ?? 0) : (width - span) / 2 + i * STEP;
    for (const program of group) {
      const [from, to] = [program.x + BOX / 2, left + BOX / 2];
      const [top, bottom] = [PROGRAMS_TOP + BOX, ELEMENTS_TOP];
      const middle = (top + bottom) / 2;
      wires.push(`<path class="wire ${kind}" d="M${from} ${top}C${from} ${middle} ${to} ${middle} ${to} ${bottom}"/>`);
      boxes.push(box(program.x, PROGRAMS_TOP, `program ${kind}`, program.at.join(",")));
    }
    boxes.push(box(left, ELEMENTS_TOP, `element ${kind}`, group.length > 1 ? `×${group.length}` : ""));
  });
  const names = axes.map((axis) => axisName(schedule, axis)).join(", ");
  const texts = label(0, 14, title, "title") + label(0, 32, names, "axis");
  const description = `${title}: ${describeWrites(writes)}`;
  const fullWidth = Math.max(width, 205);
  return (
    `<svg viewBox="0 0 ${fullWidth} ${HEIGHT}" width="${fullWidth}" height="${HEIGHT}" role="img" ` +
    `aria-label="${escapeHtml(description)}">${wires.join("")}${boxes.join("")}${texts}</svg>`
  );
}

/** The picture of one gradient: before, and beside it after. */
export function gradientPicture(schedule: Schedule, gradient: GradientSchedule): string {
  const before = drawSide(schedule, gradient, gradient.before, "Before: the forward turned round");
  const after = drawSide(schedule, gradient, gradient.after, "After: derived");
  return `<div class="pictures">${before}${after}</div>`;
}

/** Words between backticks are code. */
function withCode(text: string): string {
  return escapeHtml(text).replace(/`([^`]*)`/g, "<code>$1</code>");
}

function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1) + (text.endsWith(".") ? "" : ".");
}

/** All pictures of a kernel, each with its sentence. */
export function schedulePictures(schedule: Schedule): string {
  if (schedule.gradients.length === 0)
    return `<p class="quiet">${withCode(schedule.reason ?? "There is no gradient to write.")}</p>`;
  return schedule.gradients
    .map(
      (gradient) =>
        `<figure tabindex="0"><figcaption><code>d${escapeHtml(gradient.input)}</code> ` +
        `${withCode(sentence(gradient.after.why ?? describeWrites(gradient.after)))}</figcaption>` +
        `${gradientPicture(schedule, gradient)}</figure>`,
    )
    .join("");
}
