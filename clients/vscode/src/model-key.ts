// The key of the user's model, in the editor's secret storage: the server gets it in its environment, and gives it to `--ask` alone.
import * as vscode from "vscode";

const name = "tad.modelKey";
/** What the server reads where `key-variable` of model.toml says nothing else. */
const variable = "TAD_MODEL_KEY";

/** Asks for the key; an empty answer takes the kept one away. False where nothing was answered. */
export async function askForKey(secrets: vscode.SecretStorage): Promise<boolean> {
  const key = await vscode.window.showInputBox({
    password: true,
    ignoreFocusOut: true,
    prompt: `Kept in the editor's secret storage, and given to the server as ${variable}. Empty: forget it.`,
  });
  if (key === undefined) return false;
  await keepKey(secrets, key);
  return true;
}

export async function keepKey(secrets: vscode.SecretStorage, key: string): Promise<void> {
  if (key.trim()) await secrets.store(name, key.trim());
  else await secrets.delete(name);
}

/** The environment of the server: the editor's own, with the key that is kept. A folder that is not trusted gets none. */
export async function environmentWithKey(secrets: vscode.SecretStorage): Promise<NodeJS.ProcessEnv> {
  const key = vscode.workspace.isTrusted ? await secrets.get(name) : undefined;
  return key ? { ...process.env, [variable]: key } : { ...process.env };
}
