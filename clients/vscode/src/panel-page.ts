// Runs in the panel's page: puts a PanelState into it, sends back what was pressed.
import type { PanelMessage, PanelState } from "./panel";
import type { GradientStatus } from "./protocol";
import { accessPicture } from "./access";
import { kernelSections, schedulePictures } from "./picture";
import { costSection } from "./roofline";
import { timesSection } from "./times";
import { configurationTable, escapeHtml, inputTable, markdownCode, sign } from "./table";
import { heading, sentence, summary } from "./words";

declare function acquireVsCodeApi(): { postMessage(message: PanelMessage): void };

const api = acquireVsCodeApi();

function section(title: string, content: string, stale = false): string {
  return content ? `<section${stale ? ' class="stale"' : ""}><h2>${title}</h2>${content}</section>` : "";
}

/** What is known of the kernel; that the rules refuse it is known without a check. */
function statusOf({ status, schedule, kernel }: PanelState): GradientStatus | null {
  const isChecked = status && status.status !== "unchecked";
  if (isChecked || !schedule?.reason) return status;
  return { uri: "", kernel, status: "refused", reason: schedule.reason };
}

/** The result in words: what a screen reader is told when it changes. */
function statusText(state: PanelState): string {
  const status = statusOf(state);
  if (!state.trusted) return "This workspace is not trusted, so no kernel is run. Manage Workspace Trust to check gradients.";
  return status ? summary(status) : `${heading("unchecked")}.`;
}

function statusLine(state: PanelState): string {
  const status = statusOf(state);
  const isQuiet = !state.trusted || !status || status.stale;
  const reason = state.trusted && status?.reason ? `<p>${markdownCode(sentence(status.reason))}</p>` : "";
  const shown = isQuiet ? "" : sign(status.status);
  return `<p class="status ${isQuiet ? "quiet" : status.status}">${shown}${escapeHtml(statusText(state))}</p>${reason}`;
}

// Not `disabled`: a button that is pressed by keyboard keeps the focus while it cannot be pressed again.
function button(type: PanelMessage["type"], label: string, kind: string, disabled = false): string {
  return `<button type="button" class="${kind}" data-type="${type}" aria-disabled="${disabled}">${label}</button>`;
}

function render(state: PanelState): string {
  const { schedule, problem } = state;
  const status = statusOf(state);
  const isRefused = status?.status === "refused" && !status.stale;
  const running = status?.status === "running";
  const stale = status?.stale === true;
  const isWrong = status?.status === "failed" && !stale && status.range !== undefined;
  return (
    `<header><h1><code>${escapeHtml(state.kernel)}</code></h1>` +
    `<p class="quiet">${escapeHtml(state.file)}</p>${statusLine(state)}` +
    `<div class="buttons">${button("check", running ? "Checking …" : "Check gradients", "primary", running || isRefused || !state.trusted)}` +
    `${button("preview", "Generate backward", "secondary", isRefused)}${button("open", isWrong ? "Show wrong gradient" : "Show kernel", "secondary")}</div></header>` +
    section("Gradients against directional derivatives", status ? inputTable(status) : "", stale) +
    section("Which program writes what", schedule?.gradients.length ? schedulePictures(schedule) : problem ? `<p class="quiet">${escapeHtml(problem)}</p>` : "") +
    section("The access under the cursor", state.access ? accessPicture(state.access) : "") +
    section("What the card allows", schedule?.cost ? costSection(schedule.cost) : "") +
    section("Time over size", timesSection(schedule?.times)) +
    section("What the backward costs", schedule ? kernelSections(schedule) : "") +
    section("Configurations", status ? configurationTable(status) : "", stale)
  );
}

const content = document.getElementById("content");
const announcement = document.getElementById("announcement");
window.addEventListener("message", (event: MessageEvent<PanelState>) => {
  if (!content) return;
  const focused = document.activeElement instanceof HTMLElement ? document.activeElement.dataset["type"] : undefined;
  content.innerHTML = render(event.data);
  const text = statusText(event.data);
  if (announcement && announcement.textContent !== text) announcement.textContent = text;
  // Who works by keyboard stays on the button that was pressed.
  if (focused) content.querySelector<HTMLElement>(`[data-type="${focused}"]`)?.focus();
});
document.addEventListener("click", (event) => {
  const target = event.target instanceof HTMLElement ? event.target.closest<HTMLElement>("[data-type]") : null;
  const type = target?.dataset["type"] as PanelMessage["type"] | undefined;
  if (type && target?.ariaDisabled !== "true") api.postMessage({ type });
});
api.postMessage({ type: "ready" });
