// The executable of the Python environment that the user selected, asked of the Python extension. Nothing is run.
import * as vscode from "vscode";

/** What we use of the Python extension's interface. */
interface PythonExtension {
  environments: {
    getActiveEnvironmentPath(resource?: vscode.Uri): { path: string };
    resolveEnvironment(path: { path: string }): Promise<{ executable: { uri?: vscode.Uri } } | undefined>;
  };
}

export async function selectedPython(resource?: vscode.Uri): Promise<string | undefined> {
  if (!vscode.workspace.isTrusted) return undefined;
  const extension = vscode.extensions.getExtension<PythonExtension>("ms-python.python");
  if (extension) {
    try {
      const { environments } = extension.isActive ? extension.exports : await extension.activate();
      const active = environments.getActiveEnvironmentPath(resource);
      return (await environments.resolveEnvironment(active))?.executable.uri?.fsPath;
    } catch {
      // Another version of that extension: the setting below is as good as it gets.
    }
  }
  const setting = vscode.workspace.getConfiguration("python", resource).get<string>("defaultInterpreterPath");
  return setting && setting !== "python" ? setting : undefined;
}
