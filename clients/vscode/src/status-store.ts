// The last gradient status of each kernel, as the server told it. What the Testing view and the panel show comes from here.
import * as vscode from "vscode";
import type { GradientStatus } from "./protocol";

export function kernelKey(uri: string, kernel: string): string {
  return `${vscode.Uri.parse(uri).toString()}#${kernel}`;
}

/** What tells one result from another. */
export function textOf(status: GradientStatus): string {
  return JSON.stringify({ ...status, version: null, stale: false });
}

export class StatusStore implements vscode.Disposable {
  private readonly known = new Map<string, GradientStatus>();
  private readonly changed = new vscode.EventEmitter<GradientStatus>();
  readonly onChange = this.changed.event;

  take(status: GradientStatus): void {
    const key = kernelKey(status.uri, status.kernel);
    // While a check runs, what the last one found stays to be read.
    const kept = status.status === "running" ? { ...this.known.get(key), ...status } : status;
    this.known.set(key, kept);
    this.changed.fire(kept);
  }

  /** The answer to a command; that its result is stale may have been notified before it was read. */
  takeAnswer(status: GradientStatus): void {
    const known = this.get(status.uri, status.kernel);
    if (known?.stale && textOf(known) === textOf(status)) return;
    this.take(status);
  }

  get(uri: string, kernel: string): GradientStatus | undefined {
    return this.known.get(kernelKey(uri, kernel));
  }

  /** Nothing is known any more: another server knows of no check. */
  clear(): void {
    const forgotten = [...this.known.values()];
    this.known.clear();
    for (const { uri, kernel } of forgotten) this.changed.fire({ uri, kernel, status: "unchecked" });
  }

  dispose(): void {
    this.changed.dispose();
  }
}
