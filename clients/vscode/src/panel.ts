// The panel "Gradients": the check's tables and the picture of which program writes what, for one kernel.
import * as vscode from "vscode";
import { serverCommands, type Access, type GradientStatus, type KernelEntry, type KernelPlace, type Schedule } from "./protocol";
import type { Server } from "./server";
import { kernelKey, type StatusStore } from "./status-store";

/** To the page. */
export interface PanelState {
  kernel: string;
  file: string;
  trusted: boolean;
  status: GradientStatus | null;
  schedule: Schedule | null;
  /** Of the load or store under the cursor, or of the last one that the cursor was at. */
  access: Access | null;
  problem: string | null;
}

/** From the page. */
export type PanelMessage = { type: "ready" | "check" | "preview" | "open" };

function randomToken(): string {
  const bytes = new Uint8Array(16);
  globalThis.crypto.getRandomValues(bytes);
  return Buffer.from(bytes).toString("hex");
}

export class GradientPanel implements vscode.Disposable {
  private panel: vscode.WebviewPanel | undefined;
  private place: KernelPlace | undefined;
  private schedule: Schedule | null = null;
  private access: Access | null = null;
  private looking: NodeJS.Timeout | undefined;
  private problem: string | null = null;
  private reloading: NodeJS.Timeout | undefined;
  private readonly subscriptions: vscode.Disposable[];

  constructor(
    private readonly context: vscode.ExtensionContext,
    private readonly server: Server,
    private readonly store: StatusStore,
  ) {
    this.subscriptions = [
      store.onChange((status) => {
        const { place } = this;
        if (place && kernelKey(place.uri, place.kernel) === kernelKey(status.uri, status.kernel)) {
          this.post();
          if (!status.stale) void this.loadSchedule(place);
        }
      }),
      server.onHealth((health) => {
        if (health.state === "running" && this.panel && this.place) void this.loadSchedule(this.place);
      }),
      vscode.workspace.onDidGrantWorkspaceTrust(() => this.post()),
      vscode.window.onDidChangeTextEditorSelection(({ textEditor }) => this.lookSoon(textEditor)),
      vscode.workspace.onDidChangeTextDocument(({ document }) => {
        if (this.panel && this.place && document.uri.toString() === vscode.Uri.parse(this.place.uri).toString())
          this.reloadSoon();
      }),
    ];
  }

  dispose(): void {
    clearTimeout(this.reloading);
    clearTimeout(this.looking);
    this.panel?.dispose();
    for (const subscription of this.subscriptions) subscription.dispose();
  }

  async show(place: KernelPlace): Promise<void> {
    this.place = place;
    this.schedule = null;
    this.access = null;
    this.problem = null;
    this.panel ??= this.create();
    this.panel.title = `Gradients: ${place.kernel}`;
    this.panel.reveal(undefined, false);
    this.post();
    const editor = vscode.window.visibleTextEditors.find((candidate) => this.isAbout(candidate));
    if (editor) await this.loadAccess(editor);
    await this.loadSchedule(place);
  }

  private isAbout(editor: vscode.TextEditor): boolean {
    return this.place !== undefined && editor.document.uri.toString() === vscode.Uri.parse(this.place.uri).toString();
  }

  /** The picture follows the cursor when it rests. */
  private lookSoon(editor: vscode.TextEditor): void {
    if (!this.panel || !this.isAbout(editor)) return;
    clearTimeout(this.looking);
    this.looking = setTimeout(() => void this.loadAccess(editor), 200);
  }

  /** What the cursor is at; between two accesses the last one stays. */
  private async loadAccess(editor: vscode.TextEditor): Promise<void> {
    const { place } = this;
    if (!this.panel || !place) return;
    const { line, character } = editor.selection.active;
    const argument = { uri: place.uri, position: { line, character } };
    try {
      const access = await this.server.command<Access | null>(serverCommands.access, argument);
      if (!access || access.kernel !== place.kernel || this.place !== place) return;
      this.access = access;
      this.post();
    } catch (error) {
      this.server.output.warn(`the access under the cursor: ${String(error)}`);
    }
  }

  private create(): vscode.WebviewPanel {
    const media = vscode.Uri.joinPath(this.context.extensionUri, "media");
    const script = vscode.Uri.joinPath(this.context.extensionUri, "dist");
    const panel = vscode.window.createWebviewPanel(
      "tad.gradients",
      "Gradients",
      { viewColumn: vscode.ViewColumn.Beside },
      { enableScripts: true, localResourceRoots: [media, script], retainContextWhenHidden: false },
    );
    panel.iconPath = vscode.Uri.joinPath(media, "icon.svg");
    panel.onDidDispose(() => (this.panel = undefined));
    panel.webview.onDidReceiveMessage((message: PanelMessage) => this.receive(message));
    panel.webview.html = this.html(panel.webview);
    return panel;
  }

  private html(webview: vscode.Webview): string {
    const nonce = randomToken();
    const uri = (...parts: string[]): string =>
      webview.asWebviewUri(vscode.Uri.joinPath(this.context.extensionUri, ...parts)).toString();
    const policy = `default-src 'none'; style-src ${webview.cspSource}; script-src 'nonce-${nonce}'`;
    return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="stylesheet" href="${uri("media", "panel.css")}">
<title>Gradients</title>
</head>
<body>
<main id="content"></main>
<div id="announcement" role="status" class="unseen"></div>
<script nonce="${nonce}" src="${uri("dist", "panel.js")}"></script>
</body>
</html>`;
  }

  private receive(message: PanelMessage): void {
    const { place } = this;
    if (!place) return;
    switch (message.type) {
      case "ready":
        this.post();
        break;
      case "check":
        void vscode.commands.executeCommand("tad.checkKernel", place);
        break;
      case "preview":
        void vscode.commands.executeCommand("tad.previewBackward", place);
        break;
      case "open":
        void this.open(place);
        break;
    }
  }

  /** The wrong gradient where there is one and the file writes it; else the kernel. */
  private async open(place: KernelPlace): Promise<void> {
    const uri = vscode.Uri.parse(place.uri);
    const status = this.store.get(place.uri, place.kernel);
    let range = status?.status === "failed" && !status.stale ? status.range : undefined;
    if (!range) {
      const kernels = await this.server.command<KernelEntry[] | null>(serverCommands.kernels, { uri: place.uri });
      range = kernels?.find((entry) => entry.kernel === place.kernel)?.range;
    }
    const selection =
      range && new vscode.Range(range.start.line, range.start.character, range.start.line, range.start.character);
    await vscode.window.showTextDocument(uri, { viewColumn: vscode.ViewColumn.One, selection });
  }

  private post(): void {
    const { place } = this;
    if (!place || !this.panel) return;
    const state: PanelState = {
      kernel: place.kernel,
      file: vscode.workspace.asRelativePath(vscode.Uri.parse(place.uri)),
      trusted: vscode.workspace.isTrusted,
      status: this.store.get(place.uri, place.kernel) ?? null,
      schedule: this.schedule,
      access: this.access,
      problem: this.problem,
    };
    void this.panel.webview.postMessage(state);
  }

  /** While the kernel is typed, the picture follows in the pauses. */
  private reloadSoon(): void {
    clearTimeout(this.reloading);
    this.reloading = setTimeout(() => {
      if (this.panel && this.place) void this.loadSchedule(this.place);
    }, 500);
  }

  private async loadSchedule(place: KernelPlace): Promise<void> {
    const { uri, kernel } = place;
    let schedule: Schedule | null = null;
    let problem: string | null = null;
    try {
      schedule = await this.server.command<Schedule | null>(serverCommands.schedule, { uri, kernel });
    } catch (error) {
      problem = error instanceof Error ? error.message : String(error);
    }
    if (this.place !== place) return; // another kernel is shown by now
    this.schedule = schedule;
    this.problem = problem;
    this.post();
  }
}
