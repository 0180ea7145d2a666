// How programs write a gradient, as SVG: the programs of a launch above, the elements they write below.
// Before: the forward's own schedule turned round. After: the derived one. What colour says is said by signs and dashes as
// well: `=` is a plain store, `+=` an atomic add. Pure; colours are classes of the panel's sheet.
import type { BackwardKernel, GradientOwner, GradientSchedule, Schedule, Writes } from "./protocol";
import { escapeHtml, markdownCode, table } from "./table";
import { sentence } from "./words";

const BOX = 28;
const STEP = 36;
const GROUP_GAP = 14; // between the programs that differ in the first of two axes
const MORE = 18; // for the dots after the last program
const PROGRAMS_TOP = 46;
const ELEMENTS_TOP = 130;
const CAPTION = ELEMENTS_TOP + BOX + 18;
const HEIGHT = CAPTION + 6;
const ALONG_ONE_AXIS = 5;
const ALONG_TWO_AXES = 3;
const LEAST_WIDTH = 240;
const LETTER = 6.2; // the most that a letter of a caption takes by average

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

function extentOf(schedule: Schedule, axis: number): string | undefined {
  return schedule.axes.find((candidate) => candidate.axis === axis)?.extent;
}

/** `program_id(0) of M`: what the numbers in the boxes are. */
function axisName(schedule: Schedule, axis: number): string {
  const extent = extentOf(schedule, axis);
  return `program_id(${axis})${extent ? ` of ${extent}` : ""}`;
}

/** In one sentence what the picture shows: its text for who cannot see it. */
export function describeWrites(writes: Writes): string {
  if (writes.shared.length === 0) return "Each element is written by one program: a plain store.";
  const axes = writes.shared.map((axis) => `program_id(${axis})`).join(" and ");
  const meet = `Programs that differ in ${axes} meet in the same element`;
  return writes.atomic ? `${meet}: atomic adds.` : `${meet}, in turn.`;
}

/** What stands below the elements. */
function captionOf(schedule: Schedule, input: string, writes: Writes): string {
  if (writes.shared.length === 0) return `d${input}: each element is written by one program`;
  const extents = writes.shared.map((axis) => extentOf(schedule, axis));
  const count = extents.every((extent) => extent !== undefined) ? extents.join(" · ") : "many";
  return `d${input}: each element is written by ${count} programs`;
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
  const boxes: string[] = [label(width + MORE / 2, PROGRAMS_TOP + BOX / 2 + 4, "…", "axis", "middle")];
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
    boxes.push(box(left, ELEMENTS_TOP, `element ${kind}`, writes.atomic && group.length > 1 ? "+=" : "="));
  });
  if (isPrivate) boxes.push(label(width + MORE / 2, ELEMENTS_TOP + BOX / 2 + 4, "…", "axis", "middle"));
  const names = axes.map((axis) => axisName(schedule, axis)).join(", ");
  const caption = captionOf(schedule, gradient.input, writes);
  const texts = label(0, 14, title, "title") + label(0, 34, names, "axis") + label(0, CAPTION, caption, "axis");
  const description = `${title}: ${describeWrites(writes)}`;
  const fullWidth = Math.max(width + MORE, LEAST_WIDTH, Math.ceil(caption.length * LETTER));
  return (
    `<svg viewBox="0 0 ${fullWidth} ${HEIGHT}" width="${fullWidth}" height="${HEIGHT}" role="img" ` +
    `aria-label="${escapeHtml(description)}">${wires.join("")}${boxes.join("")}${texts}</svg>`
  );
}

function sameWrites(a: Writes, b: Writes): boolean {
  return a.atomic === b.atomic && a.own.join() === b.own.join() && a.shared.join() === b.shared.join();
}

/** The picture of one gradient: before, and beside it after; one where nothing changed. */
export function gradientPicture(schedule: Schedule, gradient: GradientSchedule): string {
  const { before, after } = gradient;
  if (sameWrites(before, after))
    return `<div class="pictures">${drawSide(schedule, gradient, after, "Before and after")}</div>`;
  return (
    `<div class="pictures">${drawSide(schedule, gradient, before, "Before: the forward turned round")}` +
    `<span class="becomes" aria-hidden="true">→</span>${drawSide(schedule, gradient, after, "After: derived")}</div>`
  );
}

const legend =
  '<ul class="legend"><li><span class="sign private" aria-hidden="true">=</span>plain store: one program owns the element</li>' +
  '<li><span class="sign collides" aria-hidden="true">+=</span>atomic add: programs meet in the element</li></ul>';

/** All pictures of a kernel, each with its sentence; those that changed and those that collide first. */
export function schedulePictures(schedule: Schedule): string {
  const interest = ({ before, after }: GradientSchedule): number =>
    (sameWrites(before, after) ? 0 : 2) + Number(after.shared.length > 0);
  const figures = [...schedule.gradients]
    .sort((a, b) => interest(b) - interest(a))
    .map(
      (gradient) =>
        `<figure tabindex="0" aria-label="Gradient d${escapeHtml(gradient.input)}"><figcaption><code>d${escapeHtml(gradient.input)}</code> ` +
        `${markdownCode(sentence(gradient.after.why ?? describeWrites(gradient.after)))}</figcaption>` +
        `${gradientPicture(schedule, gradient)}</figure>`,
    );
  return legend + figures.join("");
}

function ownerRow(gradient: GradientOwner): string {
  const { owner, collisions, why, same, picked } = gradient;
  const writes = owner ?? (collisions ? `atomic adds: ${collisions}` : "nothing is stored to it here");
  const because = [picked, why, same]
    .map((text) => (text ? `<br><span class="quiet">${markdownCode(sentence(text))}</span>` : ""))
    .join("");
  return (
    `<tr><th scope="row"><code>${escapeHtml(gradient.name)}</code></th>` +
    `<td class="text">${markdownCode(sentence(writes))}${because}</td></tr>`
  );
}

function kernelSection(kernel: BackwardKernel): string {
  const work = kernel.work
    .map(({ name, text, share }) => `<p>${name ? `${escapeHtml(name.charAt(0).toUpperCase() + name.slice(1))}: a` : "A"} program ${markdownCode(text)}${share ? `; ${escapeHtml(share)}` : ""}.</p>`)
    .join("");
  const rows = kernel.gradients.map(ownerRow);
  return `<h3><code>${escapeHtml(kernel.name)}</code></h3>${work}${rows.length ? table([["gradient"], ["who writes it"]], rows) : ""}`;
}

function savedSentence({ saved }: Schedule): string {
  const told = (saved ?? []).map(({ value, parameter, size }) => `\`${value}\` in \`${parameter}\`, ${size}`);
  return told.length ? `<p>The forward also stores ${markdownCode(told.join("; "))}.</p>` : "";
}

/** The kernels of the backward, in words: what a program of each moves and computes, who owns what and why. */
export function kernelSections(schedule: Schedule): string {
  const kernels = schedule.kernels ?? [];
  return kernels.length ? `<p class="quiet">Estimates of the analysis, nothing is run.</p>${savedSentence(schedule)}${kernels.map(kernelSection).join("")}` : "";
}
