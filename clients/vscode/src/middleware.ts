// What the editor does differently from what the server offers: backwards are shown before they are accepted.
import * as vscode from "vscode";
import type { Middleware } from "vscode-languageclient/node";
import { besidePython } from "./beside";
import { pageLink } from "./pages";
import { serverCommands, type KernelPlace } from "./protocol";
import { shortened } from "./words";

function placeOf(argument: unknown): KernelPlace | undefined {
  const place = argument as Partial<KernelPlace> | null | undefined;
  return typeof place?.uri === "string" && typeof place.kernel === "string"
    ? { uri: place.uri, kernel: place.kernel, where: place.where }
    : undefined;
}

/** Data of the server's actions that generate a backward, as in codeactions/actions.def. */
const backwardActions = new Map<unknown, KernelPlace["where"]>([
  ["backward-file", "file"],
  ["backward-here", "below"],
]);

interface ActionData {
  uri: string;
  action: string;
  /** Bytes of the document in UTF-8. */
  start: number;
}

/** The settings as the server gets them: what is the editor's to say has its value. */
function settled(answer: unknown): object {
  const settings = answer as { besidePython?: unknown };
  return { ...settings, besidePython: besidePython(settings.besidePython), trusted: vscode.workspace.isTrusted };
}

/** The server would edit at once; we show first. What is disabled says why: VS Code itself tells only screen readers. */
function previewInstead(action: vscode.CodeAction | vscode.Command, document: vscode.TextDocument): void {
  if (!(action instanceof vscode.CodeAction)) return;
  if (action.disabled) {
    action.title = `${action.title} (${shortened(action.disabled.reason, 56)})`;
    return;
  }
  const data = (action as { data?: Partial<ActionData> }).data;
  const where = backwardActions.get(data?.action);
  if (!where || data?.start === undefined) return;
  const before = Buffer.from(document.getText()).subarray(0, data.start).toString();
  const position = document.positionAt(before.length);
  action.command = { title: action.title, command: previewAtCommand, arguments: [document.uri, position, where] };
}

/** The code of a diagnostic leads to its page, unless the server has a link for it. */
function linkPage(diagnostic: vscode.Diagnostic): void {
  const { code } = diagnostic;
  if (typeof code === "string") diagnostic.code = { value: code, target: pageLink(code) };
}

/** [uri, position, where]: as "tad.previewBackward", for the kernel at a position. */
export const previewAtCommand = "tad.previewBackwardAt";

/** Once a call is accepted its parameters are what comes next. */
function helpAfter(item: vscode.CompletionItem): void {
  const text = item.insertText instanceof vscode.SnippetString ? item.insertText.value : "";
  if (text.endsWith("($0)"))
    item.command = { title: "Parameters", command: "editor.action.triggerParameterHints" };
}

export function makeMiddleware(): Middleware {
  return {
    provideCompletionItem: async (document, position, context, token, next) => {
      const found = await next(document, position, context, token);
      const items = Array.isArray(found) ? found : (found?.items ?? []);
      for (const item of items) helpAfter(item);
      return found;
    },
    provideCodeActions: async (document, range, context, token, next) => {
      const actions = await next(document, range, context, token);
      for (const action of actions ?? []) previewInstead(action, document);
      return actions;
    },
    handleDiagnostics: (uri, diagnostics, next) => {
      for (const diagnostic of diagnostics) linkPage(diagnostic);
      next(uri, diagnostics);
    },
    resolveCodeAction: (action, token, next) =>
      action.command?.command === previewAtCommand ? action : next(action, token),
    executeCommand: (command, args: unknown[], next) => {
      const place = placeOf(args[0]);
      if (place && command === serverCommands.generateBackward)
        return vscode.commands.executeCommand("tad.previewBackward", place);
      if (place && command === serverCommands.checkGradients)
        return vscode.commands.executeCommand("tad.checkKernel", place);
      if (place && command === serverCommands.timeKernel) return vscode.commands.executeCommand("tad.time", place);
      if (place && command === serverCommands.similarKernels)
        return vscode.commands.executeCommand("tad.showSimilar", place);
      if (place && command === serverCommands.showResult)
        return vscode.commands.executeCommand("tad.showGradients", place);
      return next(command, args) as unknown;
    },
    workspace: {
      // The user has no setting for trust: whatever else the server asks for, this answer is the editor's.
      configuration: async (params, token, next) => {
        const answers: unknown = await next(params, token);
        if (!Array.isArray(answers)) return answers as [];
        return params.items.map((item, i): unknown =>
          item.section === "tad" ? settled(answers[i]) : answers[i],
        );
      },
    },
  };
}
