import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { pathToFileURL } from "node:url";

interface Manifest {
  capabilities: { untrustedWorkspaces: { restrictedConfigurations: string[] } };
  contributes: {
    commands: { command: string }[];
    configuration: { properties: Record<string, unknown> };
    walkthroughs: { steps: { description: string; media: { markdown: string } }[] }[];
  };
}

const manifest = JSON.parse(readFileSync("package.json", "utf8")) as Manifest;
const sources = readdirSync("src").map((name) => readFileSync(`src/${name}`, "utf8")).join("\n");

test("the settings are those of server/settings/settings.def (node tools/settings.mjs writes them)", async () => {
  const tool = (await import(pathToFileURL("tools/settings.mjs").href)) as {
    settingsOf(definition: string): Record<string, unknown>;
    restrictedOf(settings: object): string[];
  };
  const expected = tool.settingsOf(readFileSync("../../server/settings/settings.def", "utf8"));
  assert.ok(Object.keys(expected).length > 5);
  assert.deepEqual(manifest.contributes.configuration.properties, expected);
  const { restrictedConfigurations } = manifest.capabilities.untrustedWorkspaces;
  assert.deepEqual(restrictedConfigurations, ["tad.server.path", "tad.runner.command", "tad.python.command"]);
  assert.deepEqual(tool.restrictedOf(expected), restrictedConfigurations);
});

test("the packed settings complete the names of findings, and the levels", async () => {
  interface Named {
    enum: string[];
    enumDescriptions: string[];
  }
  const tool = (await import(pathToFileURL("tools/settings.mjs").href)) as {
    completed(settings: object): Record<string, { items: Named; propertyNames: Named; additionalProperties: Named }>;
  };
  const packed = tool.completed(manifest.contributes.configuration.properties);
  const severity = packed["tad.diagnostics.severity"];
  assert.ok(severity);
  assert.ok(severity.propertyNames.enum.includes("unmasked-load") && severity.propertyNames.enum.includes("memory"));
  assert.equal(severity.propertyNames.enum.length, severity.propertyNames.enumDescriptions.length);
  assert.deepEqual(severity.additionalProperties.enum, ["error", "warning", "info", "hint", "off"]);
  assert.deepEqual(packed["tad.diagnostics.ignore"]?.items.enum, severity.propertyNames.enum);
});

test("each command of the palette is registered, and each of ours in a link exists", () => {
  const commands = manifest.contributes.commands.map((row) => row.command);
  for (const command of commands) assert.ok(sources.includes(`"${command}"`), `${command} is not registered`);
  for (const step of manifest.contributes.walkthroughs.flatMap((walkthrough) => walkthrough.steps)) {
    for (const [, name] of step.description.matchAll(/command:(tad\.\w+)/g)) assert.ok(commands.includes(name ?? ""));
    assert.ok(readFileSync(step.media.markdown, "utf8").length > 0);
  }
});

test("README has the table of the settings (node tools/settings.mjs writes it)", async () => {
  const tool = (await import(pathToFileURL("tools/settings.mjs").href)) as { rowsOf(settings: object): string };
  const readme = readFileSync("README.md", "utf8");
  assert.ok(readme.includes(tool.rowsOf(manifest.contributes.configuration.properties)));
});

test("the packed README carries every image, and names no file", async () => {
  const tool = (await import(pathToFileURL("tools/readme.mjs").href)) as {
    embedImages(markdown: string, folder: string): string;
  };
  const readme = readFileSync("README.md", "utf8");
  const images = [...readme.matchAll(/!\[/g)].length;
  const packed = tool.embedImages(readme, ".");
  assert.ok(images > 0);
  assert.equal([...packed.matchAll(/!\[[^\]]+\]\(data:image\/png;base64,[A-Za-z0-9+/=]+\)/g)].length, images);
  assert.ok(!/\]\(\.\.?\//.test(packed), "a link to a file of the repository");
});
