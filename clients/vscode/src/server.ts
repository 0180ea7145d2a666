// The server's life: found, started, stopped, started again; and the requests the rest of the extension sends to it.
import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import * as vscode from "vscode";
import {
  CancellationToken,
  CloseAction,
  DidChangeConfigurationNotification,
  ErrorAction,
  ExecuteCommandRequest,
  LanguageClient,
  State,
  Trace,
  TransportKind,
  type ErrorHandler,
  type LanguageClientOptions,
  type Middleware,
} from "vscode-languageclient/node";
import { locateServer, type Located } from "./locate";
import { environmentWithKey } from "./model-key";
import { gradientStatusMethod, type GradientStatus } from "./protocol";
import { selectedPython } from "./python";

export type Health =
  | { state: "stopped" | "starting" }
  | { state: "running"; file: string; origin: string; version: string }
  | { state: "missing" | "failed"; problem: string };

function isExecutable(file: string): boolean {
  try {
    fs.accessSync(file, fs.constants.X_OK);
    return fs.statSync(file).isFile();
  } catch {
    return false;
  }
}

function traceOf(setting: string | undefined): Trace {
  return Trace.fromString(setting ?? "off");
}

export class Server implements vscode.Disposable {
  readonly output = vscode.window.createOutputChannel("tad-lsp", { log: true });
  private readonly trace = vscode.window.createOutputChannel("tad-lsp (trace)");
  private client: LanguageClient | undefined;
  private health: Health = { state: "stopped" };
  /** Starts and stops one after the other. */
  private queue: Promise<void> = Promise.resolve();
  private readonly healthChanged = new vscode.EventEmitter<Health>();
  private readonly gradientChanged = new vscode.EventEmitter<GradientStatus>();
  readonly onHealth = this.healthChanged.event;
  readonly onGradientStatus = this.gradientChanged.event;

  constructor(
    private readonly context: vscode.ExtensionContext,
    private readonly middleware: Middleware,
  ) {}

  get current(): Health {
    return this.health;
  }

  get isRunning(): boolean {
    return this.client?.state === State.Running;
  }

  start(): Promise<void> {
    return this.enqueue(() => this.startNow());
  }

  stop(): Promise<void> {
    return this.enqueue(() => this.stopNow());
  }

  restart(): Promise<void> {
    return this.enqueue(async () => {
      await this.stopNow();
      await this.startNow();
    });
  }

  /** A command of the server, past the client's middleware. Throws what the server answers, or that there is none. */
  async command<Result>(name: string, argument: unknown, token = CancellationToken.None): Promise<Result> {
    if (!this.client || !this.isRunning)
      throw new Error("The language server is not running. The status item of Python files says why.");
    const params = { command: name, arguments: argument === undefined ? [] : [argument] };
    return this.client.sendRequest<Result>(ExecuteCommandRequest.method, params, token);
  }

  /** Where a document's text is known to the server under. */
  uriText(uri: vscode.Uri): string {
    return this.client?.code2ProtocolConverter.asUri(uri) ?? uri.toString();
  }

  async applyTrace(): Promise<void> {
    await this.client?.setTrace(traceOf(vscode.workspace.getConfiguration("tad").get("trace.server")));
  }

  dispose(): void {
    void this.stop();
    this.healthChanged.dispose();
    this.gradientChanged.dispose();
    this.output.dispose();
    this.trace.dispose();
  }

  private enqueue(step: () => Promise<void>): Promise<void> {
    this.queue = this.queue.then(step, step);
    return this.queue;
  }

  private setHealth(health: Health): void {
    this.health = health;
    this.healthChanged.fire(health);
  }

  private async locate(): Promise<Located> {
    const folders = (vscode.workspace.workspaceFolders ?? []).map(({ name, uri }) => ({ name, path: uri.fsPath }));
    const file = vscode.workspace.workspaceFile;
    if (file?.scheme === "file") folders.push({ name: "", path: path.dirname(file.fsPath) });
    const resource = vscode.workspace.workspaceFolders?.[0]?.uri;
    // A workspace may not choose what is run before it is trusted: `restrictedConfigurations` of package.json.
    const setting = vscode.workspace.getConfiguration("tad", resource).get<string>("server.path") ?? "";
    return locateServer({
      setting,
      folders,
      home: os.homedir(),
      extension: this.context.extensionPath,
      searchPath: process.env["PATH"] ?? "",
      python: await selectedPython(resource),
      platform: process.platform,
      architecture: process.arch,
      isExecutable,
    });
  }

  private options(): LanguageClientOptions {
    return {
      documentSelector: [
        { scheme: "file", language: "python" },
        { scheme: "untitled", language: "python" },
        { scheme: "vscode-notebook-cell", language: "python" },
        { scheme: "file", pattern: "**/pyproject.toml" },
      ],
      initializationOptions: {
        trusted: vscode.workspace.isTrusted,
        settings: vscode.workspace.getConfiguration("tad"),
      },
      synchronize: { fileEvents: vscode.workspace.createFileSystemWatcher("**/pyproject.toml") },
      outputChannel: this.output,
      traceOutputChannel: this.trace,
      middleware: this.middleware,
    };
  }

  private async startNow(): Promise<void> {
    if (this.client) return;
    this.setHealth({ state: "starting" });
    const located = await this.locate();
    if (!located.found) {
      this.output.error(`${located.problem}\nLooked at:\n  ${located.tried.join("\n  ")}`);
      this.setHealth({ state: "missing", problem: located.problem });
      return;
    }
    this.output.info(`starting ${located.file} (${located.origin})`);
    const env = await environmentWithKey(this.context.secrets);
    const executable = { command: located.file, transport: TransportKind.stdio, options: { env } } as const;
    let comesBack = false;
    let ending = "The language server stopped.";
    const errorHandler: ErrorHandler = {
      // A stream that breaks is closed after that, and what is to be done is decided there.
      error: () => ({ action: ErrorAction.Continue, handled: true }),
      // The client starts a server that died again by itself, and gives up after five times in three minutes.
      closed: async () => {
        const decision = await standard.closed();
        comesBack = decision.action === CloseAction.Restart;
        ending = decision.message ?? ending;
        return { ...decision, handled: true };
      },
    };
    const client = new LanguageClient("tad", "tad-lsp", executable, { ...this.options(), errorHandler });
    const standard = client.createDefaultErrorHandler();
    client.onNotification(gradientStatusMethod, (status: GradientStatus) => this.gradientChanged.fire(status));
    client.onDidChangeState(({ newState }) => {
      if (this.client !== client) return;
      if (newState === State.Running) this.setHealth(this.running(client, located));
      else if (newState === State.Starting || comesBack) this.setHealth({ state: "starting" });
      else this.setHealth({ state: "failed", problem: ending });
      if (newState === State.Starting) comesBack = false; // a start that fails is told
    });
    this.client = client;
    try {
      await client.start();
      await this.applyTrace();
    } catch (error) {
      this.client = undefined;
      const problem = error instanceof Error ? error.message : String(error);
      this.output.error(`the server did not start: ${problem}`);
      this.setHealth({ state: "failed", problem: `${located.file} did not start: ${problem}` });
    }
  }

  /** Has the server ask for its settings again. */
  async settingsChanged(): Promise<void> {
    if (this.client?.state === State.Running)
      await this.client.sendNotification(DidChangeConfigurationNotification.type, { settings: null });
  }

  private running(client: LanguageClient, located: Extract<Located, { found: true }>): Health {
    const version = client.initializeResult?.serverInfo?.version ?? "";
    return { state: "running", file: located.file, origin: located.origin, version };
  }

  private async stopNow(): Promise<void> {
    const client = this.client;
    this.client = undefined;
    if (!client) return;
    try {
      if (client.state !== State.Stopped) await client.stop(5000);
      await client.dispose();
    } catch (error) {
      this.output.warn(`the server did not stop in order: ${String(error)}`);
    }
    this.setHealth({ state: "stopped" });
  }
}
