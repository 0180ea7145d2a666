// A real VS Code: starts code-server with the packed extension, opens its page in Chromium, and knows where things are on it.
import { spawn } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, openSync, rmSync, writeFileSync } from "node:fs";
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

  /** A page of this editor's workspace; `payload` as the web workbench takes it. */
  async page({ file, payload = [], viewport = { width: 1400, height: 860 }, before } = {}) {
    const page = await this.browser.newPage({ viewport });
    if (before) await before(page);
    if (file) payload = [...payload, ["openFile", `vscode-remote://127.0.0.1:${this.port}${this.workspace}/${file}`]];
    const query = payload.length ? `&payload=${encodeURIComponent(JSON.stringify(payload))}` : "";
    await page.goto(`http://127.0.0.1:${this.port}/?folder=${this.workspace}${query}`, { timeout: 60_000 });
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

  async chooseFirst() {
    await this.page.locator(".quick-input-list .monaco-list-row").first().waitFor();
    await this.page.waitForTimeout(200);
    await this.page.keyboard.press("Enter");
  }

  async openFile(name) {
    await this.quickInput("Control+p", name);
    await this.chooseFirst();
    await this.editorOf(name);
  }

  /** The editor of a file is there and shows text. */
  async editorOf(name) {
    await this.page.locator(`.tab.active[data-resource-name="${name}"]`).waitFor({ timeout: 60_000 });
    await this.page.locator(".editor-instance .view-line").first().waitFor();
  }

  async command(title) {
    await this.quickInput("F1", `>${title}`);
    await this.chooseFirst();
  }

  async goToLine(line, column = 1) {
    await this.quickInput("Control+g", `:${line}:${column}`);
    await this.page.waitForTimeout(100);
    await this.page.keyboard.press("Enter");
  }

  lenses(text) {
    return this.page.locator(".codelens-decoration a, .codelens-decoration > span", { hasText: text });
  }

  lens(text) {
    return this.lenses(text).first();
  }

  /** Clicks a lens until `effect` is there: a click while lenses are laid out anew goes nowhere. */
  async clickLens(text, effect) {
    for (let attempt = 0; attempt < 8; attempt++) {
      await this.lens(text).click({ timeout: 5000 }).catch(() => {});
      if (await effect.first().waitFor({ timeout: 4000 }).then(() => true, () => false)) return;
    }
    throw new Error(`the lens ${text} does nothing`);
  }

  testRow(label) {
    return this.page.locator(".test-explorer .monaco-list-row", { hasText: label }).first();
  }

  async runTest(label) {
    const row = this.testRow(label);
    await row.hover();
    await row.locator("a[aria-label^='Run Test']").first().click();
  }

  /** Rests the mouse on an element until a hover with this text is there: one that comes while the page is busy goes again. */
  async hover(locator, text) {
    const hover = this.page.locator(".monaco-hover:visible", { hasText: text }).first();
    for (let attempt = 0; attempt < 8; attempt++) {
      await this.page.mouse.move(700, 790);
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
