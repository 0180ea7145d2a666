// Runs in the panel's page: puts a PanelState into it, sends back what was pressed.
import type { PanelMessage, PanelState } from "./panel";
import { schedulePictures } from "./picture";
import { configurationTable, escapeHtml, inputTable } from "./table";
import { heading, summary } from "./words";

declare function acquireVsCodeApi(): { postMessage(message: PanelMessage): void };

const api = acquireVsCodeApi();

function section(title: string, content: string): string {
  return content ? `<section><h2>${title}</h2>${content}</section>` : "";
}

function statusLine({ status, trusted }: PanelState): string {
  if (!trusted)
    return '<p class="status quiet">This workspace is not trusted, so no kernel is run. Manage Workspace Trust to check gradients.</p>';
  if (!status) return `<p class="status quiet">${heading("unchecked")}.</p>`;
  const kind = status.stale ? "quiet" : status.status;
  const reason = status.reason ? `<p>${escapeHtml(status.reason)}</p>` : "";
  return `<p class="status ${kind}">${escapeHtml(summary(status))}</p>${reason}`;
}

// Not `disabled`: a button that is pressed by keyboard keeps the focus while it cannot be pressed again.
function button(type: PanelMessage["type"], label: string, kind: string, disabled = false): string {
  return `<button type="button" class="${kind}" data-type="${type}" aria-disabled="${disabled}">${label}</button>`;
}

function render(state: PanelState): string {
  const { status, schedule, problem } = state;
  const running = status?.status === "running";
  const directions =
    typeof status?.dot_test === "number"
      ? `<p class="quiet">Largest disagreement of a whole direction: ${status.dot_test.toExponential(1)}.</p>`
      : "";
  return (
    `<header><h1><code>${escapeHtml(state.kernel)}</code></h1>` +
    `<p class="quiet">${escapeHtml(state.file)}</p>${statusLine(state)}` +
    `<div class="buttons">${button("check", running ? "Checking …" : "Check gradients", "primary", running || !state.trusted)}` +
    `${button("preview", "Generate backward", "secondary")}${button("open", "Show kernel", "secondary")}</div></header>` +
    section("Gradients against directional derivatives", status ? inputTable(status) + directions : "") +
    section("Which program writes what", schedule ? schedulePictures(schedule) : problem ? `<p class="quiet">${escapeHtml(problem)}</p>` : "") +
    section("Configurations", status ? configurationTable(status) : "")
  );
}

const content = document.getElementById("content");
window.addEventListener("message", (event: MessageEvent<PanelState>) => {
  if (!content) return;
  const focused = document.activeElement instanceof HTMLElement ? document.activeElement.dataset["type"] : undefined;
  content.innerHTML = render(event.data);
  // Who works by keyboard stays on the button that was pressed.
  if (focused) content.querySelector<HTMLElement>(`[data-type="${focused}"]`)?.focus();
});
document.addEventListener("click", (event) => {
  const target = event.target instanceof HTMLElement ? event.target.closest<HTMLElement>("[data-type]") : null;
  const type = target?.dataset["type"] as PanelMessage["type"] | undefined;
  if (type && target?.ariaDisabled !== "true") api.postMessage({ type });
});
api.postMessage({ type: "ready" });
