// What the editor does differently from what the server offers: backwards are shown before they are accepted.
import * as vscode from "vscode";
import type { Middleware } from "vscode-languageclient/node";
import { serverCommands, type KernelPlace } from "./protocol";

function placeOf(argument: unknown): KernelPlace | undefined {
  const place = argument as Partial<KernelPlace> | null | undefined;
  return typeof place?.uri === "string" && typeof place.kernel === "string"
    ? { uri: place.uri, kernel: place.kernel, where: place.where }
    : undefined;
}

export function makeMiddleware(): Middleware {
  return {
    executeCommand: (command, args: unknown[], next) => {
      const place = placeOf(args[0]);
      if (place && command === serverCommands.generateBackward)
        return vscode.commands.executeCommand("tad.previewBackward", place);
      if (place && command === serverCommands.checkGradients)
        return vscode.commands.executeCommand("tad.checkKernel", place);
      return next(command, args) as unknown;
    },
    workspace: {
      // The user has no setting for trust: whatever else the server asks for, this answer is the editor's.
      configuration: async (params, token, next) => {
        const answers: unknown = await next(params, token);
        if (!Array.isArray(answers)) return answers as [];
        return params.items.map((item, i): unknown =>
          item.section === "tad" ? { ...(answers[i] as object), trusted: vscode.workspace.isTrusted } : answers[i],
        );
      },
    },
  };
}
