// A gradient status to the panel's tables, as HTML text. Pure: the panel's script puts it into the page, tests read it.
import type { CheckState, Configuration, GradientStatus, InputResult } from "./protocol";
import { formatError, formatIndex, formatNumber } from "./words";

const entities: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };

export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => entities[character] ?? character);
}

/** Words between backticks are code. */
export function markdownCode(text: string): string {
  return escapeHtml(text).replace(/`([^`]*)`/g, "<code>$1</code>");
}

const signs: Partial<Record<CheckState, string>> = { proved: "✓", failed: "✗", unproved: "!", refused: "!", running: "…" };

/** A sign before a result, so that it is not told by colour alone; the words after it say the same. */
export function sign(state: CheckState): string {
  const text = signs[state];
  return text ? `<span class="sign" aria-hidden="true">${text}</span> ` : "";
}

function cell(text: string, kind = ""): string {
  return `<td${kind ? ` class="${kind}"` : ""}>${escapeHtml(text)}</td>`;
}

const differs = `<td class="bad">${sign("failed")}differs</td>`;
const agrees = `<td class="good">${sign("proved")}agrees</td>`;

function verdict(input: InputResult): string {
  if (input.worst) return differs;
  if (input.error === null || input.directions === 0) return '<td class="quiet">not compared</td>';
  return agrees;
}

export function table(heads: [name: string, kind?: string][], rows: string[]): string {
  const head = heads.map(([name, kind]) => `<th scope="col"${kind ? ` class="${kind}"` : ""}>${name}</th>`);
  return `<div class="wide"><table><thead><tr>${head.join("")}</tr></thead><tbody>${rows.join("")}</tbody></table></div>`;
}

/** Inputs, verdict, error, direction tests; the first wrong element where there is one. Empty text where nothing was compared. */
export function inputTable(status: GradientStatus): string {
  const inputs = status.inputs ?? [];
  if (inputs.length === 0) return "";
  const hasWrong = inputs.some((input) => input.worst);
  const rows = inputs.map(
    (input) =>
      `<tr><th scope="row"><code>d${escapeHtml(input.name)}</code></th>${verdict(input)}` +
      (hasWrong
        ? cell(input.worst ? formatIndex(input.worst.index) : "–") +
          cell(input.worst ? formatNumber(input.worst.expected) : "–", "number") +
          cell(input.worst ? formatNumber(input.worst.actual) : "–", input.worst ? "number bad" : "number")
        : "") +
      cell(input.worst && input.error === null ? "not finite" : formatError(input.error), "number") +
      cell(String(input.directions), "number") +
      "</tr>",
  );
  const { together } = status;
  if (together)
    rows.push(
      `<tr><th scope="row">all at once</th>${status.status === "failed" && !hasWrong ? differs : agrees}` +
        (hasWrong ? cell("–") + cell("–", "number") + cell("–", "number") : "") +
        cell(formatError(together.error), "number") +
        cell(String(together.directions), "number") +
        "</tr>",
    );
  const wrong: [string, string?][] = hasWrong ? [["element"], ["expected", "number"], ["actual", "number"]] : [];
  return table([["gradient"], ["result"], ...wrong, ["worst error", "number"], ["directions", "number"]], rows);
}

const outcomes: Record<string, CheckState> = { proved: "proved", failed: "failed", unproved: "unproved" };

function configurationRow(configuration: Configuration, outcome: string): string {
  const state = outcomes[outcome];
  const kind = state === "failed" ? "bad" : state === "proved" ? "good" : "quiet";
  return (
    `<tr><td class="${kind}">${state ? sign(state) : ""}${escapeHtml(outcome)}</td>` +
    cell(configuration.source ?? "–") +
    `<td><code>${escapeHtml(configuration.text)}</code></td></tr>`
  );
}

/** What was run, and what was given up with its reason. */
export function configurationTable(status: GradientStatus): string {
  const rows = [
    ...(status.configurations ?? []).map((row) => configurationRow(row, row.status ?? "run")),
    ...(status.discarded ?? []).map((row) =>
      configurationRow(row, row.reason ? `not run: ${row.reason}` : "not run"),
    ),
  ];
  const words = status.own_types?.words;
  const covered =
    (status.covered ? `<p>Covered: ${escapeHtml(status.covered)}</p>` : "") +
    (words ? `<p>Own types: ${escapeHtml(words)}</p>` : "");
  return rows.length ? covered + table([["outcome"], ["from"], ["configuration"]], rows) : covered;
}
