// Entry: makes the parts and connects them; commands of the palette.
import * as vscode from "vscode";
import { BackwardPreviews } from "./backward";
import { watchBeside } from "./beside";
import { GradientTests } from "./checks";
import { makeMiddleware, previewAtCommand } from "./middleware";
import { askForKey, keepKey } from "./model-key";
import { explainCommand, Pages } from "./pages";
import { GradientPanel } from "./panel";
import { serverCommands, type GradientStatus, type KernelEntry, type KernelPlace } from "./protocol";
import { Server } from "./server";
import { peekSimilar } from "./similar";
import { StatusItem } from "./status";
import { StatusStore } from "./status-store";
import { settingIn, summary } from "./words";

/** What other extensions, and our tests, may use. */
export interface Api {
  readonly server: Server;
  readonly store: StatusStore;
  readonly checks: GradientTests;
  /** What *Set the Key of the Model* does; the server starts again. */
  readonly keepModelKey: (key: string) => Promise<void>;
}

let server: Server | undefined;
/** The Python editor that was active last; another tab, such as the walkthrough, may have taken its place. */
let lastPython: vscode.TextEditor | undefined;

export async function activate(context: vscode.ExtensionContext): Promise<Api> {
  const store = new StatusStore();
  lastPython = vscode.window.activeTextEditor;
  const running = new Server(context, makeMiddleware());
  server = running;
  const previews = new BackwardPreviews(running, store);
  const panel = new GradientPanel(context, running, store);
  const pages = new Pages(running);
  const checks = new GradientTests(running, store);
  running.onGradientStatus((status) => store.take(status));
  running.onHealth((health) => {
    if (health.state !== "running") store.clear();
    if (health.state === "missing" || health.state === "failed") void offerSettings(health.problem);
  });

  const choose = (place: KernelPlace | undefined, purpose: string): Promise<KernelPlace | undefined> =>
    place ? Promise.resolve(place) : chooseKernel(running, purpose);
  const command = (name: string, action: (place?: KernelPlace) => unknown): vscode.Disposable =>
    vscode.commands.registerCommand(name, action);
  context.subscriptions.push(
    running,
    store,
    previews,
    panel,
    pages,
    new StatusItem(running),
    checks,
    command("tad.restartServer", () => running.restart()),
    command("tad.showOutput", () => running.output.show()),
    command("tad.setModelKey", () =>
      guarded(async () => {
        if (await askForKey(context.secrets)) await running.restart();
      }),
    ),
    command("tad.ask", async (place) => {
      const chosen = await choose(place, "Ask a model about");
      if (chosen) await guarded(() => running.command(serverCommands.askModel, chosen));
    }),
    command("tad.openSample", () => guarded(() => openSample(context.extensionUri))),
    command("tad.previewBackward", async (place) => {
      const chosen = await choose(place, "Generate the backward of");
      if (chosen) await guarded(() => previews.show(chosen));
    }),
    vscode.commands.registerCommand(
      previewAtCommand,
      (uri: vscode.Uri, position: vscode.Position, where: KernelPlace["where"]) =>
        guarded(async () => {
          const entry = kernelAt(await kernelsOf(running, uri), position.line);
          if (entry) await previews.show({ uri: running.uriText(uri), kernel: entry.kernel, where });
        }),
    ),
    command("tad.checkKernel", async (place) => {
      const chosen = await choose(place, "Check the gradients of");
      if (chosen) await guarded(() => checkKernel(running, store, chosen));
    }),
    command("tad.showGradients", async (place) => {
      const chosen = await choose(place, "Show the gradients of");
      if (chosen) await guarded(() => panel.show(chosen));
    }),
    command("tad.showSimilar", async (place) => {
      const chosen = await choose(place, "Show kernels similar to");
      if (chosen) await guarded(() => peekSimilar(running, chosen));
    }),
    command("tad.time", async (place) => {
      const chosen = await choose(place, "Time");
      if (chosen && (await isTrusted("Timing"))) await guarded(() => running.command(serverCommands.timeKernel, chosen));
    }),
    vscode.commands.registerCommand(explainCommand, (name: unknown) => guarded(() => pages.show(name))),
    vscode.window.onDidChangeActiveTextEditor((editor) => {
      if (editor?.document.languageId === "python") lastPython = editor;
    }),
    vscode.workspace.onDidGrantWorkspaceTrust(() => running.restart()),
    watchBeside(() => void running.settingsChanged()),
    vscode.workspace.onDidChangeConfiguration((change) => {
      if (change.affectsConfiguration("tad.server.path")) void running.restart();
      if (change.affectsConfiguration("tad.trace.server")) void running.applyTrace();
    }),
  );
  await running.start();
  const keepModelKey = async (key: string): Promise<void> => {
    await keepKey(context.secrets, key);
    await running.restart();
  };
  return { server: running, store, checks, keepModelKey };
}

export async function deactivate(): Promise<void> {
  await server?.stop();
}

/** An error of the server becomes a message with the way to its log; nobody waits for the click. */
async function guarded(action: () => Promise<void>): Promise<void> {
  try {
    await action();
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    server?.output.error(text);
    if (!(error instanceof vscode.CancellationError)) void offerOutput(text);
  }
}

async function offerOutput(text: string): Promise<void> {
  const show = "Show Output";
  const change = "Open Setting";
  const setting = settingIn(text);
  const chosen = await vscode.window.showErrorMessage(text, ...(setting ? [change] : []), show);
  if (chosen === show) server?.output.show();
  if (chosen === change) await vscode.commands.executeCommand("workbench.action.openSettings", setting);
}

/** Whether processes may be started; where not, says so with the way to change it. */
async function isTrusted(what: string): Promise<boolean> {
  if (vscode.workspace.isTrusted) return true;
  const manage = "Manage Workspace Trust";
  const text = `${what} runs kernels. This workspace is not trusted.`;
  if ((await vscode.window.showWarningMessage(text, manage)) === manage)
    await vscode.commands.executeCommand("workbench.trust.manage");
  return false;
}

/** Without a server nothing works: said once, with the way to mend it. */
async function offerSettings(problem: string): Promise<void> {
  const settings = "Open Settings";
  const show = "Show Output";
  const chosen = await vscode.window.showErrorMessage(problem, settings, show);
  if (chosen === settings) await vscode.commands.executeCommand("workbench.action.openSettings", "tad.server.path");
  if (chosen === show) server?.output.show();
}

async function checkKernel(running: Server, store: StatusStore, place: KernelPlace): Promise<void> {
  if (!(await isTrusted("Checking gradients"))) return;
  // The server shows the progress and its cancel button.
  const status = await running.command<GradientStatus | null>(serverCommands.checkGradients, place);
  if (status) store.takeAnswer(status);
}

/** A kernel in a document of no file: nothing of it is written anywhere unless it is saved. */
async function openSample(extension: vscode.Uri): Promise<void> {
  const bytes = await vscode.workspace.fs.readFile(vscode.Uri.joinPath(extension, "media", "sample.py"));
  const content = new TextDecoder().decode(bytes);
  await vscode.window.showTextDocument(await vscode.workspace.openTextDocument({ language: "python", content }));
}

async function kernelsOf(running: Server, uri: vscode.Uri): Promise<KernelEntry[]> {
  const argument = { uri: running.uriText(uri) };
  return (await running.command<KernelEntry[] | null>(serverCommands.kernels, argument)) ?? [];
}

/** The kernel that begins last at or above a line, decorators included. */
function kernelAt(kernels: readonly KernelEntry[], line: number): KernelEntry | undefined {
  const sorted = [...kernels].sort((a, b) => b.range.start.line - a.range.start.line);
  return sorted.find((entry) => entry.range.start.line <= line) ?? sorted.at(-1);
}

/** The editor that the user means: the active one, the one beside a panel or around a peek that has the focus, the last one. */
function pythonEditor(): vscode.TextEditor | undefined {
  const { activeTextEditor, visibleTextEditors } = vscode.window;
  const candidates = [activeTextEditor, ...visibleTextEditors, lastPython];
  return candidates.find((editor) => editor?.document.languageId === "python" && !editor.document.isClosed);
}

/** The kernel at the cursor, or one of the file's picked from a list. */
async function chooseKernel(running: Server, purpose: string): Promise<KernelPlace | undefined> {
  const editor = pythonEditor();
  if (!editor) {
    void vscode.window.showInformationMessage("Open a Python file with a Triton kernel first.");
    return undefined;
  }
  const uri = running.uriText(editor.document.uri);
  let kernels: KernelEntry[] = [];
  await guarded(async () => {
    kernels = await kernelsOf(running, editor.document.uri);
  });
  const above = kernelAt(kernels, editor.selection.active.line);
  const items = kernels
    .map((entry) => ({
      label: entry.kernel,
      description: `line ${entry.range.start.line + 1}`,
      ...(entry.status !== "unchecked" ? { detail: entry.reason ? `${summary(entry)}: ${entry.reason}` : summary(entry) } : {}),
    }))
    .sort((a, b) => Number(b.label === above?.kernel) - Number(a.label === above?.kernel));
  if (items.length === 0) {
    void vscode.window.showInformationMessage("There is no forward kernel in this file.");
    return undefined;
  }
  const only = items.length === 1 ? items[0] : undefined;
  const chosen = only ?? (await vscode.window.showQuickPick(items, { placeHolder: `${purpose} …` }));
  return chosen && { uri, kernel: chosen.label };
}
