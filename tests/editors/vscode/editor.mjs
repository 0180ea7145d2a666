// A real VS Code: starts code-server with the packed extension, opens its page in Chromium, and knows where things are on it.
import { spawn } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

export const here = dirname(fileURLToPath(import.meta.url));
// TAD_CODE_SERVER: the package `code-server` of another release, installed as `install` does; the Node that runs the tests runs it.
const codeServer = join(process.env.TAD_CODE_SERVER ?? join(here, "node_modules/code-server"), "out/node/entry.js");
// Kernels of the demo; what no example shows is in workspace/.
const examples = ["softmax.py", "layer_norm.py", "matmul.py"];
// What any wait is given: a machine may be several times slower than the one these tests were written on.
export const PATIENCE_MS = 120_000;
const browserFlags = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--force-color-profile=srgb"];

const settings = {
  "workbench.startupEditor": "none",
  "workbench.tips.enabled": false,
  "workbench.colorTheme": "Default Dark Modern",
  "window.commandCenter": false,
  "chat.commandCenter.enabled": false,
  "chat.disableAIFeatures": true, // of later releases, which open a side bar for it
  "workbench.secondarySideBar.defaultVisibility": "hidden",
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
    editor.restoreFiles();
    const user = join(editor.folder, "user");
    mkdirSync(join(user, "User"), { recursive: true });
    writeFileSync(join(user, "User/settings.json"), JSON.stringify({ ...settings, ...userSettings }));
    editor.logFile = join(editor.folder, "editor.log");
    const log = openSync(editor.logFile, "a");
    const folders = ["--user-data-dir", user, "--extensions-dir", join(editor.folder, "extensions"), "--config", join(editor.folder, "config.yaml")];
    await runToEnd(process.execPath, [codeServer, ...folders, "--install-extension", vsix], log).catch((error) => {
      throw new Error([error.message, ...editor.lastLogLines()].join("\n"), { cause: error });
    });
    editor.port = await freePort();
    editor.process = spawn(
      process.execPath,
      [codeServer, ...folders, "--bind-addr", `127.0.0.1:${editor.port}`, "--auth", "none", "--disable-telemetry", "--disable-update-check", "--disable-getting-started-override", ...(trusted ? ["--disable-workspace-trust"] : [])],
      { stdio: ["ignore", log, log], env: { ...process.env, VSCODE_IPC_HOOK_CLI: "", XDG_DATA_HOME: join(editor.folder, "data"), XDG_CONFIG_HOME: join(editor.folder, "settings"), XDG_STATE_HOME: join(editor.folder, "state") } },
    );
    await answers(`http://127.0.0.1:${editor.port}/healthz`, Date.now() + PATIENCE_MS);
    editor.browser = await chromium.launch({ executablePath: browserPath(), args: browserFlags });
    return editor;
  }

  /** Each file of the workspace as it was at first; what tests added stays. */
  restoreFiles() {
    cpSync(join(here, "workspace"), this.workspace, { recursive: true });
    for (const name of examples) cpSync(join(here, "../../../examples", name), join(this.workspace, name));
  }

  /** The last lines of our output channel, and of what code-server itself says. */
  lastLogLines(count = 15) {
    const logs = join(this.folder, "user/logs");
    const files = existsSync(logs) ? readdirSync(logs, { recursive: true }).filter((name) => /tad-lsp[^/]*\.log$/.test(name)) : [];
    return [...files.map((name) => join(logs, name)), this.logFile].flatMap((file) => [`--- ${file}`, ...readFileSync(file, "utf8").trimEnd().split("\n").slice(-count)]);
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
    page.setDefaultTimeout(PATIENCE_MS);
    await slowDown(page);
    if (before) await before(page);
    if (file) payload = [...payload, ["openFile", `vscode-remote://127.0.0.1:${this.port}${this.workspace}/${file}`]];
    const query = payload.length ? `&payload=${encodeURIComponent(JSON.stringify(payload))}` : "";
    const what = workspaceFile ? `workspace=${workspaceFile}` : `folder=${this.workspace}`;
    await page.goto(`http://127.0.0.1:${this.port}/?${what}${query}`);
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
    if (!this.keep) rmSync(this.folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 250 });
  }
}

/** TAD_SLOWDOWN=4: the page runs as on a machine four times slower. */
async function slowDown(page) {
  const rate = Number(process.env.TAD_SLOWDOWN ?? 1);
  if (rate <= 1) return;
  const session = await page.context().newCDPSession(page);
  await session.send("Emulation.setCPUThrottlingRate", { rate });
}

function browserPath() {
  const path = [process.env.CHROMIUM, "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find((file) => file && existsSync(file));
  if (!path) throw new Error("no Chromium: install Debian's package `chromium`, or set CHROMIUM");
  return path;
}

// Where the mouse rests on nothing that would show a hover.
const neutral = [700, 770];

/** What a person does on the page. */
export class Workbench {
  constructor(page) {
    this.page = page;
  }

  async ready() {
    await this.page.locator(".monaco-workbench .activitybar").waitFor();
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

  /**
   * Does something until its effect is there: a busy workbench loses keys and clicks. An attempt is given more time than the
   * last that went through, so that a lost click is soon followed by another, and a slow machine is not asked for the same
   * again and again. An effect that is there before proves nothing: name one that the action alone has.
   */
  async act(what, action, effect) {
    const deadline = Date.now() + 2 * PATIENCE_MS;
    let trouble;
    for (let patience = 6000; Date.now() < deadline; ) {
      trouble = await action().then(() => undefined, (error) => error);
      if (await effect.first().waitFor({ timeout: trouble ? 500 : patience }).then(() => true, () => false)) return;
      if (!trouble) patience *= 1.6;
      await this.page.keyboard.press("Escape");
    }
    throw new Error(`${what}: nothing happens${trouble ? `; ${trouble.message}` : ""}`);
  }

  /** Waits until an assertion holds: what is shown comes in pieces. */
  async eventually(assertion) {
    const deadline = Date.now() + PATIENCE_MS;
    for (;;) {
      try {
        return await assertion();
      } catch (error) {
        if (Date.now() > deadline) throw error;
      }
      await this.page.waitForTimeout(50);
    }
  }

  /** Presses Escape until what it closes is gone. */
  async dismiss(shown) {
    for (let attempt = 0; attempt < 20; attempt++) {
      await this.page.keyboard.press("Escape");
      if (await shown.first().waitFor({ state: "detached", timeout: 6000 }).then(() => true, () => false)) return;
    }
    throw new Error("Escape does not close it");
  }

  /** Saves the file that is shown: it is on disk afterwards. */
  async save() {
    await this.act("saving", () => this.page.keyboard.press("Control+s"), this.page.locator(".tab.active:not(.dirty)"));
  }

  /**
   * Takes a row of the quick input. Clicked, not entered: when something else takes the focus and the input is gone, a key would
   * go into the editor, and a click fails.
   */
  async take(row) {
    await row.first().click({ timeout: 5000 });
    await this.page.mouse.move(...neutral);
  }

  /** Types into the input that `keys` open, and takes the first row once it is the one that is meant. */
  async choose(keys, text, row) {
    await this.quickInput(keys, text);
    await this.take(this.page.locator(".quick-input-list .monaco-list-row.focused", { hasText: row }));
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

  /** A command of the palette; with an effect it is given until that is there, else until the palette took it. */
  async command(title, effect) {
    const choose = () => this.choose("F1", `>${title}`, title);
    if (effect) return this.act(title, choose, effect);
    for (let attempt = 0; attempt < 8; attempt++) {
      if (await choose().then(() => true, () => false)) return;
      await this.page.keyboard.press("Escape");
    }
    throw new Error(`the palette does not take ${title}`);
  }

  async goToLine(line, column = 1) {
    const go = async () => {
      await this.quickInput("Control+g", `:${line}:${column}`);
      await this.take(this.page.locator(".quick-input-list .monaco-list-row", { hasText: `line ${line}` }));
    };
    // Keys go there: the editor has the focus, and the cursor is at this very place (it may have been in the line before).
    const workbench = this.page.locator(".monaco-workbench", { has: this.page.locator(".editor-instance .monaco-editor.focused") });
    const place = this.page.locator(".statusbar-item", { hasText: new RegExp(`^Ln ${line}, Col ${column}\\b`) });
    await this.act(`going to line ${line}, column ${column}`, go, workbench.filter({ has: place }));
  }

  /** The status bar says that the cursor is in this line. */
  atLine(line) {
    return this.page.locator(".statusbar-item", { hasText: new RegExp(`^Ln ${line},`) });
  }

  /** Those that can be seen: an editor that is hidden keeps its own. */
  lenses(text) {
    return this.page.locator(".codelens-decoration a:visible, .codelens-decoration > span:visible", { hasText: text });
  }

  lens(text) {
    return this.lenses(text).first();
  }

  /** The uppermost on the page: one that was laid out anew comes last in the page's text. */
  async upperLens(text) {
    const lenses = await this.lenses(text).all();
    const boxes = await Promise.all(lenses.map((lens) => lens.boundingBox()));
    const tops = boxes.map((box) => box?.y ?? Infinity);
    return lenses[tops.indexOf(Math.min(...tops))] ?? this.lens(text);
  }

  /** Clicks a lens until `effect` is there: a click while lenses are laid out anew goes nowhere. */
  async clickLens(text, effect) {
    await this.act(`the lens ${text}`, async () => (await this.upperLens(text)).click({ timeout: 5000 }), effect);
  }

  testRow(label) {
    return this.page.locator(".test-explorer .monaco-list-row", { hasText: label }).first();
  }

  async showTests() {
    await this.command("Testing: Focus on Test Explorer View", this.page.locator(".test-explorer .monaco-list-row"));
  }

  /** Runs what a row of the Testing view stands for until `effect` is there, which no earlier result can be taken for. */
  async runTest(label, effect) {
    await this.showTests();
    await this.command("Test: Clear All Results");
    await effect.first().waitFor({ state: "detached" });
    const run = async () => {
      await this.testRow(label).hover({ timeout: 5000 });
      await this.testRow(label).locator("a[aria-label^='Run Test']").first().click({ timeout: 5000 });
    };
    await this.act(`running ${label}`, run, effect);
  }

  /** Closes what is shown between an editor's lines: it has the focus, and would take the next keys. */
  async closePeek() {
    const close = this.page.locator(".zone-widget .codicon-close:visible").first();
    for (let attempt = 0; attempt < 16 && (await close.isVisible()); attempt++) await close.click({ timeout: 5000 }).catch(() => {});
    await close.waitFor({ state: "detached" });
  }

  /** A colour theme by its name in the picker; `mark` is its class on the workbench. */
  async theme(name, mark) {
    const choose = async () => {
      const picker = this.page.locator('.quick-input-widget input[placeholder*="Theme"]');
      await this.page.keyboard.press("Control+k");
      await this.page.keyboard.press("Control+t");
      await picker.fill(name, { timeout: 5000 });
      await this.take(this.page.locator(".quick-input-list .monaco-list-row.focused", { hasText: name }));
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
    // later releases have a label's ending in an element of its own
    const tab = this.page.locator(".tab", { hasText: title.replace(/\.py$/, "") });
    await tab.locator(".tab-actions .action-label").first().click();
    await tab.waitFor({ state: "detached" });
  }

  /** Rests the mouse on an element until a hover with this text is there: one that comes while the page is busy goes again. */
  async hover(locator, text) {
    const hover = this.page.locator(".monaco-hover:visible", { hasText: text }).first();
    for (let attempt = 0; attempt < 16; attempt++) {
      await this.page.mouse.move(...neutral);
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

  /** What the page shows, as lines of a log. */
  async report() {
    const texts = async (selector) => (await this.page.locator(selector).allInnerTexts()).map((text) => text.replaceAll("\u00a0", " ").trim()).filter(Boolean);
    const lines = [];
    for (const [what, selector] of Object.entries({
      tabs: ".tab",
      "active tab": ".tab.active",
      lenses: ".codelens-decoration:visible",
      "inline views": ".zone-widget:visible",
      "quick input": ".quick-input-widget:visible",
      notifications: ".notification-list-item",
      "status bar": ".statusbar-item",
      tests: ".test-explorer .monaco-list-row",
      editor: ".editor-group-container .view-lines",
    }))
      lines.push(`${what}: ${JSON.stringify(await texts(selector))}`);
    for (const frame of this.page.frames().slice(1)) {
      const body = frame.locator("body");
      const shown = await body.evaluate((element) => element.innerText + (element.querySelector(".status")?.className ?? "")).catch(String);
      lines.push(`frame ${frame.url().split("?")[0]}: ${JSON.stringify(shown)}`);
    }
    lines.push(`focus: ${await this.page.evaluate(() => document.activeElement?.outerHTML.slice(0, 200))}`);
    return lines;
  }

  /** After a step that failed: nothing open, nothing unsaved, the views as at first. */
  async tidy() {
    for (let i = 0; i < 4; i++) await this.page.keyboard.press("Escape");
    await this.command("File: Save All Files").catch(() => {}); // so that closing asks nothing
    await this.command("View: Close All Editors");
    await this.page.locator(".tab").first().waitFor({ state: "detached" });
    await this.command("View: Hide Panel").catch(() => {});
    await this.command("View: Show Explorer").catch(() => {});
  }

  async shot(name) {
    const folder = process.env.TAD_SCREENSHOTS;
    if (folder) await this.page.screenshot({ path: join(folder, `${name}.png`) });
  }
}
