// A gradient status to the panel's tables, as HTML text. Pure: the panel's script puts it into the page, tests read it.
import type { Configuration, GradientStatus } from "./protocol";
import { formatError, formatIndex } from "./words";

const entities: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };

export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => entities[character] ?? character);
}

function cell(text: string, kind = ""): string {
  return `<td${kind ? ` class="${kind}"` : ""}>${escapeHtml(text)}</td>`;
}

/** Inputs, error, direction tests, worst element. Empty text where nothing was compared. */
export function inputTable(status: GradientStatus): string {
  const inputs = status.inputs ?? [];
  if (inputs.length === 0) return "";
  const rows = inputs.map((input) => {
    const worst = input.worst;
    return (
      `<tr><th scope="row"><code>d${escapeHtml(input.name)}</code></th>` +
      cell(formatError(input.error), "number") +
      cell(String(input.directions), "number") +
      cell(worst ? formatIndex(worst.index) : "–") +
      cell(worst ? String(worst.expected) : "–", "number") +
      cell(worst ? String(worst.actual) : "–", "number") +
      "</tr>"
    );
  });
  return (
    "<table><thead><tr>" +
    '<th scope="col">gradient</th><th scope="col" class="number">error</th>' +
    '<th scope="col" class="number">directions</th><th scope="col">worst element</th>' +
    '<th scope="col" class="number">expected</th><th scope="col" class="number">actual</th>' +
    `</tr></thead><tbody>${rows.join("")}</tbody></table>`
  );
}

function configurationRow(configuration: Configuration, outcome: string): string {
  return (
    `<tr><td><code>${escapeHtml(configuration.text)}</code></td>` +
    cell(configuration.source ?? "–") +
    cell(outcome, outcome === "failed" ? "bad" : "") +
    "</tr>"
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
  if (rows.length === 0) return "";
  return (
    '<table><thead><tr><th scope="col">configuration</th><th scope="col">from</th>' +
    `<th scope="col">outcome</th></tr></thead><tbody>${rows.join("")}</tbody></table>`
  );
}
