// Which elements the lanes of a load, store or atomic touch, as SVG. Lanes that share 32 bytes of memory, a sector, have one shade; what the
// shade says is said in words as well. Pure; colours are classes of the panel's sheet.
import type { Access, AccessAmount } from "./protocol";
import { escapeHtml, markdownCode } from "./table";
import { sentence } from "./words";

const COLUMNS = 16;
const ROWS = 4;
const PROGRAMS = 4;
const SECTOR_BYTES = 32;
const WIDTH = 40;
const HEIGHT = 24;
const LEFT = 92;
const LONGEST_NAME = 14; // characters left of a row
const TOP = 20;

const unknown = { text: "?" };

function amountOf(amount: AccessAmount | null | undefined): AccessAmount {
  return amount ?? unknown;
}

/** `i` and `j` for two axes, `i0` and so on for more. */
function indexNames(rank: number): string[] {
  return rank <= 2 ? ["i", "j"].slice(0, rank) : Array.from({ length: rank }, (_, axis) => `i${axis}`);
}

/** `i*stride + j` */
function placeWords(access: Access): string {
  const names = indexNames(access.axes.length);
  const parts = access.axes.flatMap(({ stride }, axis) => {
    const { text, number } = amountOf(stride);
    if (number === 0 || text === "0") return [];
    return [number === 1 ? (names[axis] ?? "") : `${names[axis]}*${/[ +-]/.test(text) ? `(${text})` : text}`];
  });
  return parts.join(" + ") || "the same element for all";
}

interface Drawn {
  count: number;
  more: boolean;
  stride: AccessAmount;
}

function drawnAxis(access: Access, fromEnd: number, most: number): Drawn {
  const axis = access.axes[access.axes.length - 1 - fromEnd];
  if (!axis) return { count: 1, more: false, stride: { text: "0", number: 0 } };
  const extent = axis.extent?.number ?? most + 1;
  return { count: Math.min(extent, most), more: extent > most, stride: amountOf(axis.stride) };
}

function text(x: number, y: number, content: string, kind: string, anchor = "middle"): string {
  return `<text x="${x}" y="${y}" class="${kind}" text-anchor="${anchor}">${escapeHtml(content)}</text>`;
}

/** The lanes of the last axis from left to right, those of the axis before it from above. */
function lanes(access: Access): string {
  const across = drawnAxis(access, 0, COLUMNS);
  const down = drawnAxis(access, 1, ROWS);
  // Of a stride that the launch says, what is drawn is a tensor whose rows are not transposed.
  const assumed = across.stride.number === undefined && /^\w+$/.test(across.stride.text) ? across.stride.text : "";
  const step = assumed ? 1 : across.stride.number;
  const boxes: string[] = [];
  for (let row = 0; row < down.count; row++) {
    const start = down.stride.number === undefined ? undefined : row * down.stride.number;
    const y = TOP + row * (HEIGHT + 4);
    const name = start === undefined ? (row ? `${row > 1 ? `${row}*` : ""}${down.stride.text} +` : "") : "";
    boxes.push(text(LEFT - 8, y + 16, name.length > LONGEST_NAME ? `row ${row}` : name, "axis", "end"));
    for (let column = 0; column < across.count; column++) {
      const offset = step === undefined ? undefined : (start ?? 0) + column * step;
      const isOdd = offset !== undefined && Math.abs(Math.floor((offset * access.element_bytes) / SECTOR_BYTES)) % 2 === 1;
      const x = LEFT + column * WIDTH;
      boxes.push(`<rect class="lane ${isOdd ? "odd" : "even"}" x="${x}" y="${y}" width="${WIDTH - 3}" height="${HEIGHT}" rx="3"/>`);
      boxes.push(text(x + (WIDTH - 3) / 2, y + 16, offset === undefined ? "?" : String(offset), "program"));
    }
    if (across.more) boxes.push(text(LEFT + across.count * WIDTH + 8, y + 16, "…", "axis"));
  }
  const height = TOP + down.count * (HEIGHT + 4) + (down.more ? 14 : 0);
  if (down.more) boxes.push(text(LEFT + 12, height - 4, "…", "axis"));
  const width = LEFT + across.count * WIDTH + 24;
  const title = text(LEFT, 12, `elements from the first one of the program, lane by lane${assumed ? `, where ${assumed} is 1` : ""}`, "axis", "start");
  return (
    `<svg class="access" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" ` +
    `aria-label="${escapeHtml(`Lanes touch ${placeWords(access)}`)}">${title}${boxes.join("")}</svg>`
  );
}

/** Of the first lanes: how many sectors 32 neighbours touch, where numbers say it. */
function sectorWords(access: Access): string {
  const axis = access.axes[access.axes.length - 1];
  const step = axis?.stride?.number;
  if (step === undefined) return "";
  const count = Math.min(axis?.extent?.number ?? 32, 32);
  const sectors = new Set<number>();
  for (let lane = 0; lane < count; lane++) sectors.add(Math.floor((lane * step * access.element_bytes) / SECTOR_BYTES));
  const touched = `${sectors.size} ${sectors.size === 1 ? "sector" : "sectors"} of ${SECTOR_BYTES} bytes`;
  return `${count} neighbouring lanes touch ${touched}${access.type_open ? ", at 2 bytes an element" : ""}.`;
}

/** Where the tiles of the first programs begin. */
function programWords(access: Access): string[] {
  if (access.programs.length === 0) return ["All programs touch the same elements."];
  return access.programs.map(({ axis, step }) => {
    const { text: words, number } = amountOf(step);
    const first = number === undefined ? [] : Array.from({ length: PROGRAMS }, (_, program) => String(program * number));
    const begins = first.length ? `: ${first.join(", ")}, …` : "";
    return words === "?"
      ? `How far programs along \`program_id(${axis})\` are apart is not known.`
      : `Programs along \`program_id(${axis})\` begin \`${words}\` elements apart${begins}.`;
  });
}

/** The picture with its sentences. */
export function accessPicture(access: Access): string {
  const whose = access.pointer ? ` of \`${access.pointer}\`` : "";
  const head = `Line ${access.range.start.line + 1}, ${access.kind}${whose}: ${
    access.known ? `lane ${access.axes.length > 1 ? `(${indexNames(access.axes.length).join(", ")})` : "i"} touches \`${placeWords(access)}\`` : "where its lanes are is said by numbers from memory"
  }${access.lanes ? `; ${access.lanes}` : ""}${access.masked ? "; a mask may leave lanes out" : ""}`;
  const words = access.known ? [sectorWords(access), ...programWords(access)] : [];
  const numbers = access.configuration && access.known ? [`Numbers are those of ${access.configuration}.`] : [];
  return (
    `<figure tabindex="0" aria-label="The access under the cursor"><figcaption>${markdownCode(sentence(head))}</figcaption>` +
    (access.known && access.axes.length ? `<div class="wide">${lanes(access)}</div>` : "") +
    `<p>${[...words, ...numbers].filter(Boolean).map(markdownCode).join(" ")}</p></figure>`
  );
}
