// Gradient checks in the Testing view: files, in them kernels; run, cancel, and a failure as expected and actual. A check
// that was started elsewhere (lens, panel, after a backward was accepted) is shown here as well, and a stale one greyed out.
import * as os from "node:os";
import * as vscode from "vscode";
import {
  serverCommands,
  type GradientStatus,
  type KernelEntry,
} from "./protocol";
import type { Server } from "./server";
import { kernelKey, textOf, type StatusStore } from "./status-store";
import { counted, formatElement, formatError, formatSeconds, isFinal, summary, worstInput } from "./words";

const MOST_FILES = 2000;

function toRange(range: KernelEntry["range"]): vscode.Range {
  return new vscode.Range(range.start.line, range.start.character, range.end.line, range.end.character);
}

function isPython(document: vscode.TextDocument): boolean {
  return document.languageId === "python" && (document.uri.scheme === "file" || document.isUntitled);
}

/** As many checks at a time as the server has worker processes for. */
function workers(): number {
  const wanted = vscode.workspace.getConfiguration("tad").get<number>("gradients.workers") ?? 0;
  return Math.max(1, wanted || Math.ceil(os.availableParallelism() / 2));
}

export class GradientTests implements vscode.Disposable {
  private readonly controller = vscode.tests.createTestController("tad.gradients", "Gradients of Triton kernels");
  private readonly subscriptions: vscode.Disposable[];
  private readonly refreshing = new Map<string, NodeJS.Timeout>();
  /** Kernels that a run of this view is at: their results are its own. */
  private readonly own = new Set<string>();
  /** What the view shows last of each kernel, as text. */
  private readonly shown = new Map<string, string>();
  private readonly greyed = new vscode.EventEmitter<string>();
  /** The key of a kernel whose results are shown as no longer true. */
  readonly onGreyed = this.greyed.event;

  constructor(
    private readonly server: Server,
    private readonly store: StatusStore,
  ) {
    this.controller.resolveHandler = (item) => (item ? this.refreshFile(item.uri) : this.discover());
    this.controller.refreshHandler = () => this.discover();
    this.controller.createRunProfile(
      "Check Gradients",
      vscode.TestRunProfileKind.Run,
      (request, token) => this.run(request, token),
      true,
    );
    this.subscriptions = [
      vscode.workspace.onDidOpenTextDocument((document) => this.refreshSoon(document)),
      vscode.workspace.onDidChangeTextDocument((event) => this.refreshSoon(event.document)),
      vscode.workspace.onDidCloseTextDocument(({ uri, isUntitled }) => {
        if (isUntitled) this.controller.items.delete(uri.toString());
      }),
      vscode.workspace.onDidDeleteFiles((event) => {
        for (const file of event.files) this.controller.items.delete(file.toString());
      }),
      store.onChange((status) => void this.mirror(status)),
      server.onHealth((health) => {
        if (health.state !== "running") return;
        for (const document of vscode.workspace.textDocuments) this.refreshSoon(document);
      }),
    ];
  }

  dispose(): void {
    for (const timer of this.refreshing.values()) clearTimeout(timer);
    for (const subscription of this.subscriptions) subscription.dispose();
    this.greyed.dispose();
    this.controller.dispose();
  }

  /** Every Python file of the workspace that speaks of Triton. */
  private async discover(): Promise<void> {
    const files = await vscode.workspace.findFiles("**/*.py", undefined, MOST_FILES);
    for (const file of files) {
      const bytes = await vscode.workspace.fs.readFile(file);
      if (Buffer.from(bytes).includes("triton")) await this.refreshFile(file);
    }
  }

  private refreshSoon(document: vscode.TextDocument): void {
    if (!isPython(document)) return;
    const key = document.uri.toString();
    clearTimeout(this.refreshing.get(key));
    const refresh = (): void => {
      this.refreshing.delete(key);
      void this.refreshFile(document.uri);
    };
    this.refreshing.set(key, setTimeout(refresh, 300));
  }

  private async refreshFile(uri: vscode.Uri | undefined): Promise<void> {
    if (!uri || !this.server.isRunning) return;
    let kernels: KernelEntry[];
    try {
      kernels =
        (await this.server.command<KernelEntry[] | null>(serverCommands.kernels, { uri: this.server.uriText(uri) })) ??
        [];
    } catch (error) {
      this.server.output.debug(`kernels of ${uri.fsPath}: ${String(error)}`);
      return;
    }
    if (kernels.length === 0) {
      this.controller.items.delete(uri.toString());
      return;
    }
    let file = this.controller.items.get(uri.toString());
    if (!file) {
      file = this.controller.createTestItem(uri.toString(), vscode.workspace.asRelativePath(uri), uri);
      this.controller.items.add(file);
    }
    file.children.replace(kernels.map((entry) => this.kernelItem(uri, entry, file)));
  }

  private kernelItem(uri: vscode.Uri, entry: KernelEntry, file: vscode.TestItem): vscode.TestItem {
    const id = kernelKey(uri.toString(), entry.kernel);
    // An item that is there already keeps its result in the view.
    const old = file.children.get(id);
    const item = old ?? this.controller.createTestItem(id, entry.kernel, uri);
    item.range = toRange(entry.range);
    // While somebody types a kernel may be gone for a moment, and its result have become stale meanwhile.
    if (!old) this.greyIfStale(item);
    return item;
  }

  private collect(request: vscode.TestRunRequest): vscode.TestItem[] {
    const excluded = new Set(request.exclude ?? []);
    const kernels: vscode.TestItem[] = [];
    const visit = (item: vscode.TestItem): void => {
      if (excluded.has(item)) return;
      if (item.children.size === 0 && item.parent) kernels.push(item);
      item.children.forEach(visit);
    };
    if (request.include) request.include.forEach(visit);
    else this.controller.items.forEach(visit);
    return kernels;
  }

  private async run(request: vscode.TestRunRequest, token: vscode.CancellationToken): Promise<void> {
    const run = this.controller.createTestRun(request, "Gradients");
    const kernels = this.collect(request);
    for (const item of kernels) run.enqueued(item);
    const waiting = [...kernels];
    const runNext = async (): Promise<void> => {
      for (let item = waiting.shift(); item; item = waiting.shift()) {
        if (token.isCancellationRequested) {
          run.skipped(item);
          continue;
        }
        run.started(item);
        await this.runOne(run, item, token);
      }
    };
    try {
      await Promise.all(Array.from({ length: workers() }, runNext));
    } finally {
      run.end();
      for (const item of kernels) this.release(item);
    }
  }

  /** The view's run of a kernel is over; an edit while it ran made its result one of an earlier text. */
  private release(item: vscode.TestItem): void {
    this.own.delete(item.id);
    this.greyIfStale(item);
  }

  private greyIfStale(item: vscode.TestItem): void {
    if (!item.uri || !this.store.get(item.uri.toString(), item.label)?.stale) return;
    this.shown.delete(item.id);
    this.controller.invalidateTestResults(item);
    this.greyed.fire(item.id);
  }

  private item(status: GradientStatus): vscode.TestItem | undefined {
    const uri = vscode.Uri.parse(status.uri);
    return this.controller.items.get(uri.toString())?.children.get(kernelKey(status.uri, status.kernel));
  }

  /** A result that no run of this view asked for, and results that no longer hold. */
  private async mirror(news: GradientStatus): Promise<void> {
    if (!this.item(news) && isFinal(news.status)) await this.refreshFile(vscode.Uri.parse(news.uri));
    // Whatever came while the file was asked for its kernels counts.
    const status = this.store.get(news.uri, news.kernel) ?? news;
    const key = kernelKey(status.uri, status.kernel);
    const item = this.item(status);
    if (this.own.has(key)) return;
    if (!isFinal(status.status)) {
      this.shown.delete(key);
      return;
    }
    if (!item) return;
    if (status.stale) {
      this.greyIfStale(item);
      return;
    }
    if (this.shown.get(key) === textOf(status)) return; // notified, and then answered
    this.shown.set(key, textOf(status));
    const run = this.controller.createTestRun(new vscode.TestRunRequest([item]), "Gradients", false);
    this.report(run, item, status, (status.seconds ?? 0) * 1000);
    run.end();
  }

  private async runOne(run: vscode.TestRun, item: vscode.TestItem, token: vscode.CancellationToken): Promise<void> {
    if (!item.uri) return;
    if (!vscode.workspace.isTrusted) {
      run.errored(item, new vscode.TestMessage("Gradient checks run kernels: trust this workspace first."));
      return;
    }
    const started = Date.now();
    this.own.add(item.id);
    try {
      const uri = this.server.uriText(item.uri);
      const argument = { uri, kernel: item.label };
      const status = await this.server.command<GradientStatus | null>(serverCommands.checkGradients, argument, token);
      if (status) {
        this.store.takeAnswer(status);
        this.shown.set(item.id, textOf(status));
      }
      this.report(run, item, status, Date.now() - started);
    } catch (error) {
      if (token.isCancellationRequested) run.skipped(item);
      else run.errored(item, new vscode.TestMessage(error instanceof Error ? error.message : String(error)));
    }
  }

  private report(run: vscode.TestRun, item: vscode.TestItem, status: GradientStatus | null, ms: number): void {
    if (!status) {
      run.errored(item, new vscode.TestMessage("The server gave no result."));
      return;
    }
    run.appendOutput(outputOf(status), undefined, item);
    switch (status.status) {
      case "proved":
        run.passed(item, ms);
        break;
      case "failed":
        run.failed(item, failure(status, item), ms);
        break;
      case "refused":
      case "not-differentiable":
        run.skipped(item);
        break;
      default:
        run.errored(item, new vscode.TestMessage(status.reason ?? summary(status)), ms);
    }
  }
}

/** The worst element as expected and actual; where the file writes the gradient if it does, else at the kernel. */
function failure(status: GradientStatus, item: vscode.TestItem): vscode.TestMessage {
  const worst = worstInput(status.inputs);
  const text = status.reason ?? summary(status);
  const message = worst?.worst
    ? vscode.TestMessage.diff(
        text,
        formatElement(worst.name, worst.worst.index, worst.worst.expected),
        formatElement(worst.name, worst.worst.index, worst.worst.actual),
      )
    : new vscode.TestMessage(text);
  const range = status.range ? toRange(status.range) : item.range;
  if (item.uri && range) message.location = new vscode.Location(item.uri, range);
  return message;
}

/** What the Test Results terminal shows; it wants carriage returns. */
function outputOf(status: GradientStatus): string {
  const lines = [`${status.kernel}: ${summary(status)}`];
  if (status.reason) lines.push(`  ${status.reason}`);
  for (const input of status.inputs ?? [])
    lines.push(`  d${input.name}: error ${formatError(input.error)} in ${counted(input.directions, "direction")}`);
  if (status.covered) lines.push(`  covered: ${status.covered}`);
  if (status.own_types?.words) lines.push(`  own types: ${status.own_types.words}`);
  for (const row of status.configurations ?? []) lines.push(`  ${row.status ?? "run"}: ${row.text}`);
  for (const row of status.discarded ?? []) lines.push(`  not run: ${row.text}: ${row.reason ?? ""}`);
  if (typeof status.seconds === "number") lines.push(`  ${formatSeconds(status.seconds)}`);
  return lines.join("\r\n") + "\r\n";
}
