// A real VS Code: starts code-server with the packed extension, opens its page in Chromium, and knows where things are on it.
import { spawn } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, openSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

export const here = dirname(fileURLToPath(import.meta.url));
const codeServer = join(here, "node_modules/code-server/out/node/entry.js");
// Kernels of the demo; what no example shows is in workspace/.
const examples = ["softmax.py", "layer_norm.py"];
const browserFlags = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--force-color-profile=srgb"];

const settings = {
  "workbench.startupEditor": "none",
  "workbench.tips.enabled": false,
  "workbench.colorTheme": "Default Dark Modern",
  "window.commandCenter": false,
  "chat.commandCenter.enabled": false,
  "security.workspace.trust.startupPrompt": "never",
  "security.workspace.trust.banner": "always",
  "extensions.ignoreRecommendations": true,
  "telemetry.telemetryLevel": "off",
  "editor.minimap.enabled": false,
  "editor.lightbulb.enabled": "on",
  "editor.hover.delay": 100,
  "files.autoSave": "off",
  "testing.automaticallyOpenPeekView": "failureInVisibleDocument",
  "git.enabled": false,
};

function freePort() {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.on("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

async function answers(url, deadline) {
  while (Date.now() < deadline) {
    try {
      if ((await fetch(url)).ok) return;
    } catch {
      // Not listening yet.
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`nothing answers at ${url}`);
}

function runToEnd(command, args, log) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { stdio: ["ignore", log, log] });
    child.on("error", reject);
    child.on("exit", (code) => (code === 0 ? resolve() : reject(new Error(`${args.join(" ")} ended with ${code}`))));
  });
}

/** One code-server with the extension of `vsix` and a copy of workspace/. */
export class Editor {
  static async start({ vsix, trusted, userSettings = {}, keep = false }) {
    const editor = new Editor();
    editor.folder = mkdtempSync(join(tmpdir(), "tad-editor-"));
    editor.workspace = join(editor.folder, "workspace");
    editor.keep = keep;
    cpSync(join(here, "workspace"), editor.workspace, { recursive: true });
    for (const name of examples) cpSync(join(here, "../../../examples", name), join(editor.workspace, name));
    const user = join(editor.folder, "user");
    mkdirSync(join(user, "User"), { recursive: true });
    writeFileSync(join(user, "User/settings.json"), JSON.stringify({ ...settings, ...userSettings }));
    editor.logFile = join(editor.folder, "editor.log");
    const log = openSync(editor.logFile, "a");
    const folders = ["--user-data-dir", user, "--extensions-dir", join(editor.folder, "extensions"), "--config", join(editor.folder, "config.yaml")];
    await runToEnd(process.execPath, [codeServer, ...folders, "--install-extension", vsix], log);
    editor.port = await freePort();
    editor.process = spawn(
      process.execPath,
      [codeServer, ...folders, "--bind-addr", `127.0.0.1:${editor.port}`, "--auth", "none", "--disable-telemetry", "--disable-update-check", "--disable-getting-started-override", ...(trusted ? ["--disable-workspace-trust"] : [])],
      { stdio: ["ignore", log, log], env: { ...process.env, VSCODE_IPC_HOOK_CLI: "" } },
    );
    await answers(`http://127.0.0.1:${editor.port}/healthz`, Date.now() + 30_000);
    editor.browser = await chromium.launch({ executablePath: browserPath(), args: browserFlags });
    return editor;
  }

  /** A workspace of two folders, whose setting names a server that lies in the second; the second has a kernel of its own. */
  twoRoots() {
    const other = join(this.folder, "other");
    mkdirSync(join(other, "bin"), { recursive: true });
    cpSync(join(here, "../../../examples/rms_norm.py"), join(other, "rms_norm.py"));
    const bundled = join(this.folder, "extensions", readdirSync(join(this.folder, "extensions")).find((name) => name.startsWith("tad-lsp")), "bin/tad-lsp");
    writeFileSync(join(other, "bin/tad-lsp"), `#!/bin/sh\nexec "${bundled}" "$@"\n`, { mode: 0o755 });
    const file = join(this.folder, "two.code-workspace");
    writeFileSync(file, JSON.stringify({ folders: [{ path: "workspace" }, { path: "other" }], settings: { "tad.server.path": "bin/tad-lsp" } }));
    return file;
  }

  /** A page of this editor's workspace, or of a `.code-workspace` file; `payload` as the web workbench takes it. */
  async page({ file, workspaceFile, payload = [], viewport = { width: 1400, height: 860 }, before } = {}) {
    const page = await this.browser.newPage({ viewport });
    if (before) await before(page);
    if (file) payload = [...payload, ["openFile", `vscode-remote://127.0.0.1:${this.port}${this.workspace}/${file}`]];
    const query = payload.length ? `&payload=${encodeURIComponent(JSON.stringify(payload))}` : "";
    const what = workspaceFile ? `workspace=${workspaceFile}` : `folder=${this.workspace}`;
    await page.goto(`http://127.0.0.1:${this.port}/?${what}${query}`, { timeout: 60_000 });
    return page;
  }

  async stop() {
    await this.browser?.close();
    if (this.process && this.process.exitCode === null) {
      const ended = new Promise((resolve) => this.process.on("exit", resolve));
      this.process.kill("SIGTERM");
      await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, 5000))]);
      this.process.kill("SIGKILL");
    }
    if (!this.keep) rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

function browserPath() {
  const path = [process.env.CHROMIUM, "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find((file) => file && existsSync(file));
  if (!path) throw new Error("no Chromium: install Debian's package `chromium`, or set CHROMIUM");
  return path;
}

/** What a person does on the page. */
export class Workbench {
  constructor(page) {
    this.page = page;
  }

  async ready() {
    await this.page.locator(".monaco-workbench .activitybar").waitFor({ timeout: 60_000 });
  }

  /** Presses keys until the input that they open is there: the workbench hears nothing while it still loads. */
  async quickInput(keys, text) {
    const input = this.page.locator(".quick-input-widget input.input").first();
    for (let attempt = 0; attempt < 20; attempt++) {
      await this.page.keyboard.press(keys);
      const filled = input.waitFor({ timeout: 1000 }).then(() => input.fill(text, { timeout: 1000 }));
      if (await filled.then(() => true, () => false)) return input;
    }
    throw new Error(`${keys} opens no input`);
  }

  /** Does something until its effect is there: a busy workbench loses keys and clicks, and a busy machine is slow. */
  async act(what, action, effect) {
    for (let attempt = 0; attempt < 8; attempt++) {
      const done = await action().then(() => true, () => false);
      if (done && (await effect.first().waitFor({ timeout: 6000 }).then(() => true, () => false))) return;
      await this.page.keyboard.press("Escape");
    }
    throw new Error(`${what}: nothing happens`);
  }

  /** Types into the input that `keys` open, and takes the first row once it is the one that is meant. */
  async choose(keys, text, row) {
    await this.quickInput(keys, text);
    await this.page.locator(".quick-input-list .monaco-list-row.focused", { hasText: row }).waitFor({ timeout: 5000 });
    await this.page.keyboard.press("Enter");
  }

  async openFile(name) {
    await this.act(`opening ${name}`, () => this.choose("Control+p", name, name), this.tab(name));
    await this.editorOf(name);
  }

  tab(name) {
    return this.page.locator(`.tab.active[data-resource-name="${name}"]`);
  }

  /** The editor of a file is there and shows text. */
  async editorOf(name) {
    await this.tab(name).waitFor();
    await this.page.locator(".editor-instance .view-line").first().waitFor();
  }

  /** A command of the palette; with an effect it is given until that is there. */
  async command(title, effect) {
    if (effect) await this.act(title, () => this.choose("F1", `>${title}`, title), effect);
    else await this.choose("F1", `>${title}`, title);
  }

  async goToLine(line, column = 1) {
    const go = async () => {
      await this.quickInput("Control+g", `:${line}:${column}`);
      await this.page.locator(".quick-input-list .monaco-list-row", { hasText: `line ${line}` }).first().waitFor({ timeout: 5000 });
      await this.page.keyboard.press("Enter");
    };
    await this.act(`going to line ${line}`, go, this.atLine(line));
  }

  /** The status bar says that the cursor is in this line. */
  atLine(line) {
    return this.page.locator(".statusbar-item", { hasText: new RegExp(`^Ln ${line},`) });
  }

  lenses(text) {
    return this.page.locator(".codelens-decoration a, .codelens-decoration > span", { hasText: text });
  }

  lens(text) {
    return this.lenses(text).first();
  }

  /** Clicks a lens until `effect` is there: a click while lenses are laid out anew goes nowhere. */
  async clickLens(text, effect) {
    await this.act(`the lens ${text}`, () => this.lens(text).click({ timeout: 5000 }), effect);
  }

  testRow(label) {
    return this.page.locator(".test-explorer .monaco-list-row", { hasText: label }).first();
  }

  /** Runs what a row of the Testing view stands for until `effect` is there. */
  async runTest(label, effect) {
    const run = async () => {
      await this.testRow(label).hover({ timeout: 5000 });
      await this.testRow(label).locator("a[aria-label^='Run Test']").first().click({ timeout: 5000 });
    };
    await this.act(`running ${label}`, run, effect);
  }

  /** A colour theme by its name in the picker; `mark` is its class on the workbench. */
  async theme(name, mark) {
    const choose = async () => {
      const picker = this.page.locator('.quick-input-widget input[placeholder*="Theme"]');
      await this.page.keyboard.press("Control+k");
      await this.page.keyboard.press("Control+t");
      await picker.fill(name, { timeout: 5000 });
      await this.page.locator(".quick-input-list .monaco-list-row.focused", { hasText: name }).waitFor({ timeout: 5000 });
      await this.page.keyboard.press("Enter");
      await picker.waitFor({ state: "hidden" });
    };
    await this.act(`the theme ${name}`, choose, this.page.locator(`.monaco-workbench.${mark}`));
  }

  async clickAt(locator) {
    const box = await locator.boundingBox();
    await this.page.mouse.move(box.x + box.width / 2 - 2, box.y + box.height / 2, { steps: 3 });
    await this.page.mouse.click(box.x + box.width / 2, box.y + box.height / 2);
  }

  /** The page inside our panel. */
  panel() {
    return this.page.frameLocator("iframe.webview.ready").frameLocator("#active-frame");
  }

  async closeTab(title) {
    const tab = this.page.locator(".tab", { hasText: title });
    await tab.locator(".codicon-close").click();
    await tab.waitFor({ state: "detached" });
  }

  /** Rests the mouse on an element until a hover with this text is there: one that comes while the page is busy goes again. */
  async hover(locator, text) {
    const hover = this.page.locator(".monaco-hover:visible", { hasText: text }).first();
    for (let attempt = 0; attempt < 16; attempt++) {
      await this.page.mouse.move(700, 770);
      await this.page.waitForTimeout(300);
      await this.hoverOver(locator);
      if (await hover.waitFor({ timeout: 2500 }).then(() => true, () => false)) return;
    }
    throw new Error(`no hover says ${text}`);
  }

  /** Rests the mouse on an element: moved twice, since the first movement only wakes the editor. */
  async hoverOver(locator) {
    const box = await locator.boundingBox().catch(() => null);
    if (!box) return; // drawn anew just now: the next attempt finds it
    await this.page.mouse.move(box.x + box.width / 2 - 4, box.y + box.height / 2);
    await this.page.waitForTimeout(100);
    await this.page.mouse.move(box.x + box.width / 2, box.y + box.height / 2, { steps: 4 });
  }

  async shot(name) {
    const folder = process.env.TAD_SCREENSHOTS;
    if (folder) await this.page.screenshot({ path: join(folder, `${name}.png`) });
  }
}
