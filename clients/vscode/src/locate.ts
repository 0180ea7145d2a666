// Where the server's executable is looked for, and what was found: pure, so that it is tested without an editor.
import * as path from "node:path";

export interface Places {
  /** Setting `tad.server.path`; empty: none. */
  setting: string;
  workspaceFolder?: string;
  home?: string;
  /** Folder of the extension. */
  extension: string;
  /** Value of PATH. */
  searchPath: string;
  /** Executable of the selected Python environment. */
  python?: string;
  platform: NodeJS.Platform;
  isExecutable(file: string): boolean;
}

export type Origin = "setting" | "bundled" | "PATH" | "Python environment";

export type Located =
  | { found: true; file: string; origin: Origin }
  | { found: false; problem: string; tried: string[] };

function executableName(platform: NodeJS.Platform): string {
  return platform === "win32" ? "tad-lsp.exe" : "tad-lsp";
}

/** `~` and `${workspaceFolder}` of a setting, as people write them. */
export function expandSetting(setting: string, places: Pick<Places, "workspaceFolder" | "home">): string {
  let text = setting.trim();
  if (places.workspaceFolder) text = text.replaceAll("${workspaceFolder}", places.workspaceFolder);
  if (places.home && (text === "~" || text.startsWith("~/"))) text = places.home + text.slice(1);
  return text;
}

/**
 * The first executable of: setting, bundled, PATH, selected Python environment. A setting that names nothing is an
 * error and not a reason to look elsewhere: another server than the one asked for would be a surprise.
 */
export function locateServer(places: Places): Located {
  const name = executableName(places.platform);
  const setting = expandSetting(places.setting, places);
  if (setting) {
    const file = path.resolve(places.workspaceFolder ?? ".", setting);
    if (places.isExecutable(file)) return { found: true, file, origin: "setting" };
    return {
      found: false,
      problem: `\`tad.server.path\` names ${file}, which is no executable file.`,
      tried: [file],
    };
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
      "No tad-lsp was found: this package has none for this platform, and there is none on PATH or in the selected Python environment.",
    tried: candidates.map((candidate) => candidate.file),
  };
}
