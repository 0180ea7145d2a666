// The pages of diagnostics and operations, shown in the editor: from the palette, and from the link on a diagnostic's code.
import * as vscode from "vscode";
import { serverCommands } from "./protocol";
import type { Server } from "./server";

const pageScheme = "tad-page";
export const explainCommand = "tad.explainPage";

/** A page as a document: what a link on a diagnostic's code opens. (Later releases of VS Code run no command there.) */
export function pageLink(name: string): vscode.Uri {
  return vscode.Uri.from({ scheme: pageScheme, path: `/${name}.md` });
}

function codeOf(diagnostic: vscode.Diagnostic): string | undefined {
  const code = typeof diagnostic.code === "object" ? diagnostic.code.value : diagnostic.code;
  return diagnostic.source === "tad" && code !== undefined ? String(code) : undefined;
}

/** The diagnostic at the cursor, else the first of its line. */
function nameAtCursor(): string | undefined {
  const editor = vscode.window.activeTextEditor;
  if (!editor) return undefined;
  const at = editor.selection.active;
  const near = vscode.languages
    .getDiagnostics(editor.document.uri)
    .filter(({ range }) => range.start.line <= at.line && at.line <= range.end.line)
    .sort((a, b) => Number(b.range.contains(at)) - Number(a.range.contains(at)));
  return near.map(codeOf).find((code) => code !== undefined);
}

export class Pages implements vscode.Disposable, vscode.TextDocumentContentProvider {
  private readonly subscriptions: vscode.Disposable[];

  constructor(private readonly server: Server) {
    this.subscriptions = [vscode.workspace.registerTextDocumentContentProvider(pageScheme, this)];
  }

  dispose(): void {
    for (const subscription of this.subscriptions) subscription.dispose();
  }

  provideTextDocumentContent(uri: vscode.Uri): Promise<string> {
    return this.server.command<string>(serverCommands.explain, { name: uri.path.slice(1).replace(/\.md$/, "") });
  }

  /** Shows the page of `name`, or of what the user names. */
  async show(name: unknown): Promise<void> {
    const wanted =
      typeof name === "string"
        ? name
        : await vscode.window.showInputBox({
            prompt: "Name of a diagnostic or an operation, such as unmasked-load or tl.dot",
            value: nameAtCursor() ?? "",
          });
    if (!wanted?.trim()) return;
    const uri = pageLink(wanted.trim());
    await vscode.workspace.openTextDocument(uri); // says so where there is no such page
    await vscode.commands.executeCommand("markdown.showPreviewToSide", uri);
  }
}
