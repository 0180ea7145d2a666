// The settings of package.json: our own, then the rows of server/settings/settings.def. `node tools/settings.mjs` writes them there and into README.md.
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const own = {
  "tad.server.path": {
    type: "string",
    default: "",
    scope: "machine-overridable",
    markdownDescription:
      "The server to start. Empty: the one in this extension, else `tad-lsp` from `PATH`, else from the selected Python environment. `~` and `${workspaceFolder}` may be used.",
  },
  "tad.trace.server": {
    type: "string",
    enum: ["off", "messages", "verbose"],
    default: "off",
    scope: "window",
    markdownDescription: "What of the traffic with the server is written to the output channel *tad-lsp (trace)*.",
  },
};

// Not for people: the extension sets them.
const hidden = new Set(["trusted"]);

const scopes = [
  [/\.command$/, "machine-overridable"],
  // What a model costs is no workspace's to say.
  [/^model\.(name|temperature|effort|maxTokens|maxSeconds)$/, "application"],
];

// Texts that are one of a few words.
const choices = { besidePython: ["auto", "on", "off"] };

const types = {
  FLAG: (value) => ({ type: "boolean", default: value === "true" }),
  NUMBER: (value) => ({ type: "number", default: Number(value), minimum: 0 }),
  TEXT: (value) => ({ type: "string", default: value.replaceAll('"', "") }),
  NAMES: () => ({ type: "array", items: { type: "string" }, default: [] }),
  LEVELS: () => ({ type: "object", additionalProperties: { type: "string", enum: levels }, default: {} }),
};

const levels = ["error", "warning", "info", "hint", "off"];
const definitions = new URL("../../../analysis/diagnostics/", import.meta.url);

/** Diagnostics and their families with a sentence each. */
function diagnostics() {
  const families = new Set();
  const found = [];
  for (const file of readdirSync(definitions).filter((name) => name.endsWith(".def")).sort()) {
    const text = readFileSync(new URL(file, definitions), "utf8");
    for (const [, name, family, title] of text.matchAll(/^DIAGNOSTIC\(\w+,\s*"([^"]+)",\s*\w+,\s*"([^"]+)",\s*"((?:[^"\\]|\\.)*)"/gm)) {
      families.add(family);
      found.push([name, JSON.parse(`"${title}"`)]);
    }
  }
  const rows = [...[...families].map((name) => [name, "a family"]), ...found].sort((a, b) => (a[0] < b[0] ? -1 : 1));
  return { enum: rows.map(([name]) => name), enumDescriptions: rows.map(([, title]) => title) };
}

const row = /SETTING\(\s*\w+,\s*"([^"]+)",\s*(\w+),\s*\w+,\s*("[^"]*"|[^,]+),\s*((?:"(?:[^"\\]|\\.)*"\s*)+)\)/g;

/** Text of settings.def to the properties of `contributes.configuration`. */
export function settingsOf(definition) {
  const code = definition.replace(/^\/\/.*$/gm, "");
  const settings = { ...own };
  let rows = 0;
  for (const [, name, type, value, words] of code.matchAll(row)) {
    rows++;
    if (hidden.has(name)) continue;
    const description = [...words.matchAll(/"((?:[^"\\]|\\.)*)"/g)].map((part) => JSON.parse(`"${part[1]}"`)).join("");
    const scope = scopes.find(([names]) => names.test(name))?.[1] ?? "window";
    const chosen = choices[name] ? { enum: choices[name] } : {};
    settings[`tad.${name}`] = { ...types[type](value.trim()), ...chosen, scope, markdownDescription: description };
  }
  const expected = code.split("SETTING(").length - 1;
  if (rows !== expected) throw new Error(`settings.def has ${expected} rows, ${rows} were understood`);
  return settings;
}

/** What may name a program: a workspace chooses none before it is trusted. */
export function restrictedOf(settings) {
  return Object.keys(settings).filter((name) => settings[name].scope === "machine-overridable");
}

/** The settings with the names that they take, for completion: in the package alone, as one fact is in one place of the repository. */
export function completed(settings) {
  const names = diagnostics();
  const fill = ([name, value]) => {
    if (value.type === "array") return [name, { ...value, items: { ...value.items, ...names } }];
    if (value.type === "object") return [name, { ...value, propertyNames: names }];
    return [name, value];
  };
  return Object.fromEntries(Object.entries(settings).map(fill));
}

/** The settings as rows of the table in README.md. */
export function rowsOf(settings) {
  const row = ([name, value]) =>
    `| \`${name}\` | ${value.default === "" ? "empty" : `\`${JSON.stringify(value.default)}\``} | ${value.markdownDescription} |\n`;
  return Object.entries(settings).map(row).join("");
}

export const definitionFile = new URL("../../../server/settings/settings.def", import.meta.url);
const readmeFile = new URL("../README.md", import.meta.url);
const packageFile = new URL("../package.json", import.meta.url);

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const manifest = JSON.parse(readFileSync(packageFile, "utf8"));
  manifest.contributes.configuration.properties = settingsOf(readFileSync(definitionFile, "utf8"));
  manifest.capabilities.untrustedWorkspaces.restrictedConfigurations = restrictedOf(manifest.contributes.configuration.properties);
  writeFileSync(packageFile, JSON.stringify(manifest, null, 2) + "\n");
  const readme = readFileSync(readmeFile, "utf8");
  writeFileSync(readmeFile, readme.replace(/(\|---\|---\|---\|\n)(\|.*\n)*/, `$1${rowsOf(manifest.contributes.configuration.properties)}`));
}
