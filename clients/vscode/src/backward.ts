// "Generate backward": a new module beside its forward, a changed one in a diff editor, with Accept and Discard in the title; then the check.
import * as vscode from "vscode";
import { serverCommands, type BackwardPreview, type GradientStatus, type KernelPlace } from "./protocol";
import type { Server } from "./server";
import type { StatusStore } from "./status-store";

export const previewScheme = "tad-backward";

interface Proposal {
  target: vscode.Uri;
  text: string;
  /** Text of the target when the proposal was made; undefined: there was no such file. */
  before: string | undefined;
  /** The forward kernel, to be checked afterwards. */
  source: string;
  kernel: string | undefined;
  /** The line to look at first, where the server says one. */
  line: number | undefined;
  conflicts: number;
}

async function readText(uri: vscode.Uri): Promise<string | undefined> {
  const open = vscode.workspace.textDocuments.find((document) => document.uri.toString() === uri.toString());
  if (open) return open.getText();
  try {
    return new TextDecoder().decode(await vscode.workspace.fs.readFile(uri));
  } catch {
    return undefined;
  }
}

/** The line to look at first. */
function startOfBackward({ text, kernel, line: said }: Proposal): vscode.Range {
  const lines = text.split("\n");
  const line = said ?? Math.max(lines.findIndex((candidate) => candidate.startsWith(`def ${kernel ?? ""}_backward`)), 0);
  return new vscode.Range(line, 0, line, 0);
}

export class BackwardPreviews implements vscode.Disposable, vscode.TextDocumentContentProvider {
  private readonly proposals = new Map<string, Proposal>();
  private readonly contentChanged = new vscode.EventEmitter<vscode.Uri>();
  private readonly subscriptions: vscode.Disposable[];
  private count = 0;
  readonly onDidChange = this.contentChanged.event;

  constructor(
    private readonly server: Server,
    private readonly store: StatusStore,
  ) {
    this.subscriptions = [
      vscode.workspace.registerTextDocumentContentProvider(previewScheme, this),
      vscode.commands.registerCommand("tad.acceptBackward", (uri?: vscode.Uri) => this.accept(uri)),
      vscode.commands.registerCommand("tad.discardBackward", (uri?: vscode.Uri) => this.discard(uri)),
      vscode.workspace.onDidCloseTextDocument((document) => {
        if (document.uri.scheme === previewScheme) this.proposals.delete(document.uri.toString());
      }),
    ];
  }

  dispose(): void {
    for (const subscription of this.subscriptions) subscription.dispose();
    this.contentChanged.dispose();
  }

  provideTextDocumentContent(uri: vscode.Uri): string {
    const proposal = this.proposals.get(uri.toString());
    if (!proposal) return "";
    return uri.query.startsWith("before") ? (proposal.before ?? "") : proposal.text;
  }

  /** Derives and shows; says why not where the rules refuse. */
  async show(place: KernelPlace): Promise<void> {
    const preview = await vscode.window.withProgress(
      { location: vscode.ProgressLocation.Window, title: `Deriving the backward of ${place.kernel}` },
      () => this.server.command<BackwardPreview | null>(serverCommands.backwardPreview, place),
    );
    if (!preview || preview.refusal || !preview.text) {
      const reason = preview?.refusal ?? "the rules say nothing about this kernel.";
      void vscode.window.showWarningMessage(`No backward for ${place.kernel}: ${reason}`);
      return;
    }
    const target = vscode.Uri.parse(preview.uri);
    const before = await readText(target);
    if (before === preview.text) {
      await vscode.window.showTextDocument(target);
      void vscode.window.showInformationMessage(
        `The backward of ${place.kernel} is up to date in ${vscode.workspace.asRelativePath(target)}.`,
      );
      return;
    }
    await this.open({
      target,
      text: preview.text,
      before,
      source: place.uri,
      kernel: place.kernel,
      line: preview.conflict ?? preview.first,
      conflicts: preview.conflicts ?? 0,
    });
    if (preview.conflicts) void vscode.window.showWarningMessage(preview.note ?? "");
    else if (preview.note) void vscode.window.showInformationMessage(preview.note);
  }

  /** A module that is not there yet: beside the forward, both at the kernel. */
  private async openBeside(proposal: Proposal, uri: vscode.Uri): Promise<void> {
    const forward = vscode.window.visibleTextEditors.find((editor) => editor.document.uri.toString() === proposal.source);
    const head = new RegExp(`^[ \\t]*def ${proposal.kernel ?? ""}\\(`, "m").exec(forward?.document.getText() ?? "");
    if (forward && head) {
      const place = forward.document.positionAt(head.index);
      forward.revealRange(new vscode.Range(place, place), vscode.TextEditorRevealType.InCenterIfOutsideViewport);
    }
    const document = await vscode.workspace.openTextDocument(uri);
    const selection = startOfBackward(proposal);
    const shown = await vscode.window.showTextDocument(document, { viewColumn: vscode.ViewColumn.Beside, selection });
    shown.revealRange(selection, vscode.TextEditorRevealType.AtTop);
  }

  private async open(proposal: Proposal): Promise<void> {
    // Each proposal has a document of its own: an editor that is still open keeps showing what it showed.
    const number = ++this.count;
    const file = proposal.target.path;
    if (proposal.before === undefined) {
      // The name is what the tab says; by its end the editor knows the language.
      const name = `backward of ${proposal.kernel ?? "all kernels"}, new file ${file.slice(file.lastIndexOf("/") + 1)}`;
      const path = `${file.slice(0, file.lastIndexOf("/") + 1)}${name}`;
      const uri = proposal.target.with({ scheme: previewScheme, path, query: `after=${number}` });
      this.proposals.set(uri.toString(), proposal);
      await this.openBeside(proposal, uri);
      return;
    }
    const path = file.endsWith(".py") ? file : `${file}.py`; // a text without a file is Python, too
    const left = proposal.target.with({ scheme: previewScheme, path, query: `before=${number}` });
    const right = proposal.target.with({ scheme: previewScheme, path, query: `after=${number}` });
    this.proposals.set(left.toString(), proposal);
    this.proposals.set(right.toString(), proposal);
    const name = vscode.workspace.asRelativePath(proposal.target);
    const title = `${name}: backward of ${proposal.kernel ?? "all kernels"}`;
    const options: vscode.TextDocumentShowOptions = { preview: true, selection: startOfBackward(proposal) };
    await vscode.commands.executeCommand("vscode.diff", left, right, title, options);
  }

  /** The proposal of a document, or of the active editor where none is named. */
  private find(uri: vscode.Uri | undefined): { uri: vscode.Uri; proposal: Proposal } | undefined {
    const candidate =
      uri?.scheme === previewScheme ? uri : vscode.window.activeTextEditor?.document.uri;
    const proposal = candidate && this.proposals.get(candidate.toString());
    return candidate && proposal ? { uri: candidate, proposal } : undefined;
  }

  private async accept(uri: vscode.Uri | undefined): Promise<void> {
    const found = this.find(uri);
    if (!found) {
      void vscode.window.showInformationMessage("There is no proposed backward in the active editor.");
      return;
    }
    const { proposal } = found;
    if ((await readText(proposal.target)) !== proposal.before) {
      void vscode.window.showWarningMessage(
        `${vscode.workspace.asRelativePath(proposal.target)} changed since this was proposed. Generate it again.`,
      );
      return;
    }
    if (!(await this.write(proposal))) return;
    await this.close(found.uri);
    await vscode.window.showTextDocument(proposal.target, { preview: false, selection: startOfBackward(proposal) });
    if (proposal.kernel && !proposal.conflicts) void this.check(proposal.source, proposal.kernel);
  }

  private async write(proposal: Proposal): Promise<boolean> {
    const edit = new vscode.WorkspaceEdit();
    if (proposal.before === undefined) {
      edit.createFile(proposal.target, { contents: new TextEncoder().encode(proposal.text) });
    } else {
      const document = await vscode.workspace.openTextDocument(proposal.target);
      const all = new vscode.Range(0, 0, document.lineCount, 0);
      edit.replace(proposal.target, document.validateRange(all), proposal.text);
    }
    if (await vscode.workspace.applyEdit(edit)) return true;
    void vscode.window.showErrorMessage(`${proposal.target.fsPath} could not be written.`);
    return false;
  }

  /** After the accept, as the lens says: the result comes as a notification, so nobody waits here. */
  private async check(uri: string, kernel: string): Promise<void> {
    if (!vscode.workspace.isTrusted) return;
    try {
      const status = await this.server.command<GradientStatus | null>(serverCommands.checkGradients, { uri, kernel });
      if (status) this.store.take(status);
    } catch (error) {
      this.server.output.warn(`the check of ${kernel} after its backward was written: ${String(error)}`);
    }
  }

  private async discard(uri: vscode.Uri | undefined): Promise<void> {
    const found = this.find(uri);
    if (found) await this.close(found.uri);
  }

  private async close(uri: vscode.Uri): Promise<void> {
    const text = uri.toString();
    for (const group of vscode.window.tabGroups.all)
      for (const tab of group.tabs)
        if (
          (tab.input instanceof vscode.TabInputTextDiff && tab.input.modified.toString() === text) ||
          (tab.input instanceof vscode.TabInputText && tab.input.uri.toString() === text)
        )
          await vscode.window.tabGroups.close(tab);
    this.proposals.delete(text);
  }
}
