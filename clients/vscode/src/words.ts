// A gradient status in words: the same in the status item, the Testing view and the panel.
import type { CheckState, GradientStatus, InputResult } from "./protocol";

export function formatError(error: number | null | undefined): string {
  if (error === null || error === undefined) return "–";
  if (error === 0 || (error >= 1e-3 && error < 1e4)) return String(Number(error.toPrecision(2)));
  return error.toExponential(1).replace("e+", "e");
}

export function formatSeconds(seconds: number): string {
  if (seconds < 0.1) return `${Math.max(1, Math.round(seconds * 1000))} ms`;
  return seconds < 10 ? `${seconds.toFixed(1)} s` : `${Math.round(seconds)} s`;
}

const headings: Record<CheckState, string> = {
  unchecked: "Not checked yet",
  running: "Checking …",
  proved: "Gradients proved",
  failed: "A gradient is wrong",
  unproved: "Not proved",
  refused: "No backward",
  "not-differentiable": "Not differentiable",
};

/** A check that waits for a worker looks different from one that runs, which says how far it is. */
function runningWords(status: GradientStatus): string {
  if (status.waiting) return "Waiting for a worker";
  return status.percent ? `Checking, ${status.percent} %` : headings.running;
}

/** One line: `Gradients proved, worst error 3.1e-9, 0.4 s`. */
export function summary(status: GradientStatus): string {
  const parts = [status.status === "running" ? runningWords(status) : headings[status.status]];
  if (status.status === "proved" || status.status === "failed") {
    if (typeof status.worst_error === "number")
      parts.push(`worst error ${formatError(status.worst_error)}`);
    if (typeof status.seconds === "number") parts.push(formatSeconds(status.seconds));
  }
  return parts.join(", ") + (status.stale ? " (of an earlier text)" : "");
}

export function heading(state: CheckState): string {
  return headings[state];
}

export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

/** The setting of ours that a message names between backticks. */
export function settingIn(text: string): string | undefined {
  return /`(tad\.\w+(?:\.\w+)*)`/.exec(text)?.[1];
}

/** First letter large, full stop at the end. */
export function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1) + (/[.!?]$/.test(text) ? "" : ".");
}

/** At most `longest` characters of a text, cut between words. */
export function shortened(text: string, longest: number): string {
  if (text.length <= longest) return text;
  const space = text.lastIndexOf(" ", longest - 1);
  return `${text.slice(0, space > 0 ? space : longest - 1)}…`;
}

export function isFinal(state: CheckState): boolean {
  return state !== "running" && state !== "unchecked";
}

export function formatIndex(index: readonly number[]): string {
  return `[${index.join(", ")}]`;
}

/** Six digits: what the check tells apart, and no noise of rounding. */
export function formatNumber(value: number): string {
  return String(Number(value.toPrecision(6)));
}

/** `dw[3, 7] = 2` */
export function formatElement(input: string, index: readonly number[], value: number): string {
  return `d${input}${formatIndex(index)} = ${formatNumber(value)}`;
}

/** The input with the worst element: the one to show as expected and actual. */
export function worstInput(inputs: readonly InputResult[] | undefined): InputResult | undefined {
  let worst: InputResult | undefined;
  for (const input of inputs ?? [])
    if (input.worst && (!worst || (input.error ?? Infinity) > (worst.error ?? Infinity))) worst = input;
  return worst;
}
