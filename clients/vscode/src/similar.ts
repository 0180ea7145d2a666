// Kernels of the user's index that are built like one of a file, peeked from its name; each is followed by its backwards.
import * as vscode from "vscode";
import { serverCommands, type KernelEntry, type KernelPlace, type NamedPlace, type SimilarKernel } from "./protocol";
import type { Server } from "./server";

function locationOf({ uri, range }: NamedPlace): vscode.Location {
  const { line, character } = range.start;
  return new vscode.Location(vscode.Uri.parse(uri), new vscode.Position(line, character));
}

/** Where the kernel's name stands; the start of the file where it is not found any more. */
async function nameOf(server: Server, place: KernelPlace): Promise<vscode.Position> {
  const kernels = await server.command<KernelEntry[] | null>(serverCommands.kernels, { uri: place.uri });
  const start = kernels?.find(({ kernel }) => kernel === place.kernel)?.range.start;
  return new vscode.Position(start?.line ?? 0, start?.character ?? 0);
}

export async function peekSimilar(server: Server, place: KernelPlace): Promise<void> {
  const found = (await server.command<SimilarKernel[] | null>(serverCommands.similarKernels, place)) ?? [];
  if (found.length === 0) {
    void vscode.window.showInformationMessage(`Nothing in the index is built like ${place.kernel}.`);
    return;
  }
  const uri = vscode.Uri.parse(place.uri);
  await vscode.window.showTextDocument(uri);
  const locations = found.flatMap((kernel) => [kernel, ...(kernel.backwards ?? [])]).map(locationOf);
  await vscode.commands.executeCommand(
    "editor.action.peekLocations",
    uri,
    await nameOf(server, place),
    locations,
    "peek",
  );
}
