// Where the server's executable is looked for, and what was found: pure, so that it is tested without an editor.
import * as path from "node:path";

export interface Folder {
  name: string;
  path: string;
}

export interface Places {
  /** Setting `tad.server.path`; empty: none. */
  setting: string;
  /** What a relative setting is relative to, best first: the workspace's folders, the one of its `.code-workspace` file. */
  folders?: readonly Folder[];
  home?: string;
  /** Folder of the extension. */
  extension: string;
  /** Value of PATH. */
  searchPath: string;
  /** Executable of the selected Python environment. */
  python?: string;
  platform: NodeJS.Platform;
  /** Of the processor, as Node names it. */
  architecture?: string;
  isExecutable(file: string): boolean;
}

export type Origin = "setting" | "bundled" | "PATH" | "Python environment";

export type Located =
  | { found: true; file: string; origin: Origin }
  | { found: false; problem: string; tried: string[] };

function executableName(platform: NodeJS.Platform): string {
  return platform === "win32" ? "tad-lsp.exe" : "tad-lsp";
}

/**
 * The files that a setting may mean, `~`, `${workspaceFolder}` and `${workspaceFolder:name}` filled in as people write them:
 * with several folders in the workspace one for each.
 */
export function expandSetting(setting: string, places: Pick<Places, "folders" | "home">): string[] {
  const folders = places.folders ?? [];
  let text = setting.trim();
  if (!text) return [];
  if (places.home && (text === "~" || text.startsWith("~/"))) text = places.home + text.slice(1);
  for (const folder of folders) text = text.replaceAll(`\${workspaceFolder:${folder.name}}`, folder.path);
  const bases = folders.length ? folders.map((folder) => folder.path) : ["."];
  const files = bases.map((base) => path.resolve(base, text.replaceAll("${workspaceFolder}", base)));
  return [...new Set(files)];
}

/**
 * The first executable of: setting, bundled, PATH, selected Python environment. A setting that names nothing is an
 * error and not a reason to look elsewhere: another server than the one asked for would be a surprise.
 */
export function locateServer(places: Places): Located {
  const name = executableName(places.platform);
  const wanted = expandSetting(places.setting, places);
  if (wanted.length) {
    const file = wanted.find((candidate) => places.isExecutable(candidate));
    if (file) return { found: true, file, origin: "setting" };
    const named = wanted.length === 1 ? wanted[0] : places.setting.trim();
    const what = wanted.length === 1 ? "which is no executable file" : "which is no executable file in any folder";
    return { found: false, problem: `\`tad.server.path\` names ${named}, ${what}.`, tried: wanted };
  }
  const candidates: { file: string; origin: Origin }[] = [
    { file: path.join(places.extension, "bin", name), origin: "bundled" },
  ];
  for (const folder of places.searchPath.split(path.delimiter))
    if (folder) candidates.push({ file: path.join(folder, name), origin: "PATH" });
  if (places.python)
    candidates.push({ file: path.join(path.dirname(places.python), name), origin: "Python environment" });
  const hit = candidates.find((candidate) => places.isExecutable(candidate.file));
  if (hit) return { found: true, ...hit };
  return {
    found: false,
    problem:
      `No tad-lsp was found: this package has none for ${[places.platform, places.architecture].filter(Boolean).join("-")}, and ` +
      "there is none on PATH or in the selected Python environment. Build it (`make build` in its repository) and name it in `tad.server.path`.",
    tried: candidates.map((candidate) => candidate.file),
  };
}
