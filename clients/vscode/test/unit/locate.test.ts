import assert from "node:assert/strict";
import { test } from "node:test";
import { locateServer, type Places } from "../../src/locate";

function places(executables: string[], more: Partial<Places> = {}): Places {
  return {
    setting: "",
    extension: "/ext",
    searchPath: "/usr/bin:/opt/bin",
    platform: "linux",
    isExecutable: (file) => executables.includes(file),
    ...more,
  };
}

test("the bundled server comes before PATH, PATH before the Python environment", () => {
  const python = "/venv/bin/python";
  const all = ["/ext/bin/tad-lsp", "/opt/bin/tad-lsp", "/venv/bin/tad-lsp"];
  const origins = [0, 1, 2].map((from) => locateServer(places(all.slice(from), { python })));
  assert.deepEqual(
    origins.map((located) => located.found && [located.origin, located.file]),
    [
      ["bundled", "/ext/bin/tad-lsp"],
      ["PATH", "/opt/bin/tad-lsp"],
      ["Python environment", "/venv/bin/tad-lsp"],
    ],
  );
});

test("a setting wins, with ~ and ${workspaceFolder} filled in", () => {
  const more = { home: "/home/u", folders: [{ name: "src", path: "/src" }] };
  const inHome = locateServer(places(["/home/u/tad-lsp", "/ext/bin/tad-lsp"], { ...more, setting: "~/tad-lsp" }));
  assert.deepEqual(inHome, { found: true, file: "/home/u/tad-lsp", origin: "setting" });
  const setting = "${workspaceFolder}/build/tad-lsp";
  const inFolder = locateServer(places(["/src/build/tad-lsp"], { ...more, setting }));
  assert.deepEqual(inFolder, { found: true, file: "/src/build/tad-lsp", origin: "setting" });
});

test("a setting that names nothing is an error, not a reason to take another server", () => {
  const located = locateServer(places(["/ext/bin/tad-lsp"], { setting: "/gone/tad-lsp" }));
  assert.equal(located.found, false);
  assert.match(located.problem, /tad\.server\.path.*\/gone\/tad-lsp/);
});

test("what was tried is told when there is no server", () => {
  const located = locateServer(places([], { python: "/venv/bin/python" }));
  assert.equal(located.found, false);
  assert.deepEqual(located.tried, [
    "/ext/bin/tad-lsp",
    "/usr/bin/tad-lsp",
    "/opt/bin/tad-lsp",
    "/venv/bin/tad-lsp",
  ]);
});

test("in a workspace of several folders a relative setting is looked for in each", () => {
  const folders = [
    { name: "one", path: "/home/me/one" },
    { name: "two", path: "/home/me/two" },
  ];
  const executables = ["/home/me/two/build/tad-lsp"];
  const locate = (setting: string): string | undefined => {
    const located = locateServer(places(executables, { folders, setting }));
    return located.found ? located.file : undefined;
  };
  assert.equal(locate("build/tad-lsp"), "/home/me/two/build/tad-lsp");
  assert.equal(locate("${workspaceFolder}/build/tad-lsp"), "/home/me/two/build/tad-lsp");
  assert.equal(locate("${workspaceFolder:two}/build/tad-lsp"), "/home/me/two/build/tad-lsp");
  assert.equal(locate("${workspaceFolder:one}/build/tad-lsp"), undefined);
  const missing = locateServer(places([], { folders, setting: "bin/tad-lsp" }));
  assert.deepEqual(!missing.found && missing.tried, ["/home/me/one/bin/tad-lsp", "/home/me/two/bin/tad-lsp"]);
});

test("where the package has no program for the platform, it says so and what to do", () => {
  const located = locateServer(places([], { platform: "darwin", architecture: "arm64" }));
  assert.ok(!located.found);
  assert.match(located.problem, /none for darwin-arm64.*tad\.server\.path/);
});
