// Whether another extension answers for Python in the same files, so that nothing is said twice.
import * as vscode from "vscode";

/** Extensions that bring a language server for Python, with names, uses and types. */
const pythonServers = [
  "ms-python.vscode-pylance",
  "ms-pyright.pyright",
  "detachhead.basedpyright",
  "anysphere.cursorpyright",
  "meta.pyrefly",
  "astral-sh.ty",
];

const recheckMs = 5000;

/** The setting, with what the editor sees in the place of `auto`. */
export function besidePython(chosen: unknown): "on" | "off" {
  if (chosen === "on" || chosen === "off") return chosen;
  const isActive = (id: string) => vscode.extensions.getExtension(id)?.isActive === true;
  // The Python extension brings one of its own, which a setting can choose.
  const brought = vscode.workspace.getConfiguration("python").get<string>("languageServer");
  return pythonServers.some(isActive) || (isActive("ms-python.python") && brought === "Jedi") ? "on" : "off";
}

/** Calls `changed` when another server comes or goes: extensions begin when they like, and nobody is told. */
export function watchBeside(changed: () => void): vscode.Disposable {
  let last = besidePython("auto");
  const timer = setInterval(() => {
    const now = besidePython("auto");
    if (now === last) return;
    last = now;
    changed();
  }, recheckMs);
  return new vscode.Disposable(() => clearInterval(timer));
}
