// The pages of diagnostics and operations, shown in the editor: from the palette, and from the link on a diagnostic's code.
import * as vscode from "vscode";
import { serverCommands } from "./protocol";
import type { Server } from "./server";

const pageScheme = "tad-page";
export const explainCommand = "tad.explainPage";

/** The link that shows a page; null arguments ask for a name. */
export function pageLink(name: string): vscode.Uri {
  return vscode.Uri.parse(`command:${explainCommand}?${encodeURIComponent(JSON.stringify([name]))}`);
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
  private readonly texts = new Map<string, string>();
  private readonly subscriptions: vscode.Disposable[];

  constructor(private readonly server: Server) {
    this.subscriptions = [vscode.workspace.registerTextDocumentContentProvider(pageScheme, this)];
  }

  dispose(): void {
    for (const subscription of this.subscriptions) subscription.dispose();
  }

  provideTextDocumentContent(uri: vscode.Uri): string {
    return this.texts.get(uri.toString()) ?? "";
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
    const text = await this.server.command<string>(serverCommands.explain, { name: wanted.trim() });
    const uri = vscode.Uri.from({ scheme: pageScheme, path: `/${wanted.trim()}.md` });
    this.texts.set(uri.toString(), text);
    await vscode.commands.executeCommand("markdown.showPreviewToSide", uri);
  }
}
