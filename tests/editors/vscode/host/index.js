// Tests that run inside VS Code's extension host, against the packed extension: what a person's clicks call. run() is what VS Code calls.
"use strict";
const assert = require("node:assert/strict");
const { execFileSync } = require("node:child_process");
const fs = require("node:fs");
const path = require("node:path");
const vscode = require("vscode");
const scripted = require("./model");

const workspace = () => vscode.workspace.workspaceFolders[0].uri;
const file = (name) => vscode.Uri.joinPath(workspace(), name);

async function until(what, condition, seconds = 120) {
  const deadline = Date.now() + seconds * 1000;
  for (;;) {
    const value = await condition();
    if (value) return value;
    if (Date.now() > deadline) throw new Error(`waited ${seconds} s for: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

async function open(name) {
  return vscode.window.showTextDocument(await vscode.workspace.openTextDocument(file(name)));
}

function positionOf(document, text, from = 0) {
  const offset = document.getText().indexOf(text, from);
  assert.notEqual(offset, -1, `the document has no ${text}`);
  return document.positionAt(offset);
}

const problems = (document) => vscode.languages.getDiagnostics(document.uri);
const serious = (document) => problems(document).filter((one) => one.severity === vscode.DiagnosticSeverity.Error);
const lenses = (document) => vscode.commands.executeCommand("vscode.executeCodeLensProvider", document.uri, 100);
const actions = (document, range) =>
  vscode.commands.executeCommand("vscode.executeCodeActionProvider", document.uri, range, undefined, 20);

let api;
const place = (name, kernel) => ({ uri: api.server.uriText(file(name)), kernel });

/** Whether a process is the server that this extension host started. */
function isServer(pid) {
  try {
    const parent = / (\d+) /.exec(fs.readFileSync(`/proc/${pid}/stat`, "utf8").replace(/^.*\) \w/, ""))?.[1];
    return Number(parent) === process.pid && fs.readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("bin/tad-lsp");
  } catch {
    return false; // no process, or one that is gone
  }
}

const testsOfTwoRoots = {
  async "a relative path of the server is found in the second folder, and kernels of both are served"() {
    assert.equal(vscode.workspace.workspaceFolders.length, 2);
    const extension = await until("the extension", () => vscode.extensions.getExtension("tad-lsp.tad-lsp"));
    api = await extension.activate();
    const health = await until("a running server", () => api.server.current.state === "running" && api.server.current);
    const second = vscode.workspace.workspaceFolders[1].uri;
    assert.deepEqual([health.origin, health.file], ["setting", path.join(second.fsPath, "bin/tad-lsp")]);
    for (const uri of [file("softmax.py"), vscode.Uri.joinPath(second, "rms_norm.py")]) {
      const document = await vscode.workspace.openTextDocument(uri);
      await vscode.window.showTextDocument(document);
      await until(`lenses in ${uri.path}`, async () => (await lenses(document)).some((lens) => lens.command?.command === "tad.checkGradients"));
    }
    const checked = await api.server.command("tad.checkGradients", { uri: api.server.uriText(vscode.Uri.joinPath(second, "rms_norm.py")), kernel: "rms_norm_kernel" });
    assert.equal(checked.status, "proved", checked.reason);
  },
};

const tests = {
  async "the packed extension starts the server that is inside it"() {
    await open("softmax.py");
    const extension = await until("the extension", () => vscode.extensions.getExtension("tad-lsp.tad-lsp"));
    api = await extension.activate();
    const health = await until("a running server", () => api.server.current.state === "running" && api.server.current);
    assert.equal(health.origin, "bundled");
    assert.ok(health.file.startsWith(extension.extensionPath));
    assert.match(health.version, /^\d+\.\d+/);
  },

  async "a mistake is found while typing, and gone when it is undone"() {
    const editor = await open("layer_norm.py");
    const { document } = editor;
    await until("the first analysis", async () => (await lenses(document)).length > 0);
    assert.deepEqual(serious(document).map((one) => one.message), []);
    const at = positionOf(document, "mask=cols < N, other=0.0");
    await editor.edit((edit) => edit.replace(new vscode.Range(at, at.translate(0, 4)), "mosk"));
    const found = await until("an error", () => serious(document)[0]);
    assert.equal(found.source, "tad");
    assert.ok(found.range.start.line <= at.line && at.line <= found.range.end.line);
    assert.match(found.message, /no parameter `mosk`.*`mask`/);
    await vscode.commands.executeCommand("undo");
    await until("no error", () => serious(document).length === 0);
    await vscode.commands.executeCommand("workbench.action.files.revert");
  },

  async "hover says shape and type, hints stand beside the names"() {
    const { document } = await open("softmax.py");
    const hovers = await until("a hover", async () => {
      const found = await vscode.commands.executeCommand("vscode.executeHoverProvider", document.uri, positionOf(document, "numerator ="));
      return found.length > 0 && found;
    });
    const text = hovers.flatMap((hover) => hover.contents.map((part) => part.value)).join("\n");
    assert.match(text, /BLOCK/);
    const all = new vscode.Range(0, 0, document.lineCount, 0);
    await until("hints", async () => (await vscode.commands.executeCommand("vscode.executeInlayHintProvider", document.uri, all)).length > 0);
  },

  async "each forward kernel has a lens for its backward and one for its check"() {
    const { document } = await open("softmax.py");
    const found = await until("lenses", async () => {
      const list = await lenses(document);
      return list.filter((lens) => lens.command?.command === "tad.generateBackward").length === 2 && list;
    });
    assert.equal(found.filter((lens) => lens.command.command === "tad.checkGradients").length, 2);
    assert.equal(found[0].command.arguments[0].kernel, "softmax_kernel");
  },

  async "a backward is shown before it is accepted; discarding leaves nothing"() {
    await open("softmax.py");
    await vscode.commands.executeCommand("tad.generateBackward", place("softmax.py", "softmax_kernel"));
    const tab = await until("the new module beside", () => {
      const active = vscode.window.tabGroups.activeTabGroup.activeTab;
      return active?.input instanceof vscode.TabInputText && active.input.uri.scheme === "tad-backward" && active;
    });
    assert.equal(tab.group.viewColumn, vscode.ViewColumn.Two, "the forward stays in sight");
    assert.match(vscode.window.activeTextEditor.document.lineAt(vscode.window.activeTextEditor.selection.active.line).text, /^def softmax_kernel_backward/);
    const proposed = await vscode.workspace.openTextDocument(tab.input.uri);
    assert.match(proposed.getText(), /def softmax_kernel_backward\w*\(/);
    assert.ok(!fs.existsSync(file("softmax_kernel_backward.py").fsPath));
    await vscode.commands.executeCommand("tad.discardBackward");
    await until("the preview is closed", () => vscode.window.tabGroups.activeTabGroup.activeTab !== tab);
    assert.ok(!fs.existsSync(file("softmax_kernel_backward.py").fsPath));
  },

  async "an accepted backward is written, and its gradients are checked"() {
    await open("softmax.py");
    await vscode.commands.executeCommand("tad.generateBackward", place("softmax.py", "softmax_kernel"));
    await until("the new module beside", () => vscode.window.tabGroups.activeTabGroup.activeTab?.input.uri?.scheme === "tad-backward");
    await vscode.commands.executeCommand("tad.acceptBackward");
    await until("the file", () => fs.existsSync(file("softmax_kernel_backward.py").fsPath));
    assert.match(fs.readFileSync(file("softmax_kernel_backward.py").fsPath, "utf8"), /def softmax_kernel_backward\w*\(/);
    assert.equal(path.basename(vscode.window.activeTextEditor.document.fileName), "softmax_kernel_backward.py");
    const wanted = place("softmax.py", "softmax_kernel");
    const status = await until("a final status", () => {
      const known = api.store.get(wanted.uri, wanted.kernel);
      return known && known.status !== "running" && known;
    });
    assert.equal(status.status, "proved", status.reason);
    assert.ok(status.worst_error < 1e-6);
    assert.ok(status.inputs.length > 0);
    const copy = place("softmax_kernel_backward.py", "softmax_kernel");
    await until("the result over the written backward", () => api.store.get(copy.uri, copy.kernel)?.status === "proved");
    const { document } = await open("softmax.py");
    await until("the lens with the result", async () =>
      (await lenses(document)).some((lens) => /gradients proved, worst/.test(lens.command?.title ?? "")),
    );
  },

  async "similar kernels are peeked; without an index it is said how to make one"() {
    await open("softmax.py");
    const wanted = place("softmax.py", "softmax_kernel");
    await assert.rejects(api.server.command("tad.similarKernels", wanted), /nothing is indexed: `tad-lsp --index PATH/);
    const module = file("softmax_kernel_backward.py").fsPath;
    execFileSync(api.server.current.file, ["--index", module]);
    const [near] = await api.server.command("tad.similarKernels", wanted);
    assert.deepEqual([near.name, vscode.Uri.parse(near.uri).fsPath, near.backwards.length > 0], ["softmax_kernel", module, true]);
    await vscode.commands.executeCommand("tad.similarKernels", wanted);
    // The peek has an editor of its own, which shows the place.
    await until("the peek", () => vscode.window.visibleTextEditors.some((one) => one.document.fileName === module));
    await vscode.commands.executeCommand("closeReferenceSearch");
  },

  async "a wrong gradient is an error where the file writes it, with its worst element"() {
    const editor = await open("softmax_kernel_backward.py");
    const { document } = editor;
    const right = "dx = dnumerator * y";
    await editor.edit((edit) => edit.insert(positionOf(document, right).translate(0, right.length), " * 0.5"));
    const status = await api.server.command("tad.checkGradients", place("softmax_kernel_backward.py", "softmax_kernel"));
    assert.equal(status.status, "failed", status.reason);
    const { worst } = status.inputs.find((one) => one.worst);
    assert.ok(Math.abs(worst.actual / worst.expected - 0.5) < 1e-4, `${worst.actual} is half of ${worst.expected}`);
    const written = positionOf(document, "tl.store((din_ptr");
    assert.deepEqual(status.range.start, { line: written.line, character: written.character });
    const wrong = await until("the error", () => serious(document).find((one) => (one.code?.value ?? one.code) === "gradient-wrong"));
    assert.ok(wrong.range.start.isEqual(written));
    await vscode.commands.executeCommand("undo");
    await until("no error of another text", () => serious(document).length === 0);
    await vscode.commands.executeCommand("workbench.action.files.revert");
  },

  async "a result is stale as soon as the kernel changes"() {
    const editor = await open("softmax.py");
    const wanted = place("softmax.py", "softmax_kernel");
    const at = positionOf(editor.document, "numerator / tl.sum");
    await editor.edit((edit) => edit.insert(at, "1.0 * "));
    await until("a stale status", () => api.store.get(wanted.uri, wanted.kernel)?.stale === true);
    await vscode.commands.executeCommand("workbench.action.files.revert");
  },

  async "results of a changed kernel are greyed, also of one that is gone while it is typed"() {
    const editor = await open("softmax.py");
    const wanted = place("softmax.py", "softmax_kernel");
    const key = `${file("softmax.py").toString()}#softmax_kernel`;
    const greyed = [];
    const listening = api.checks.onGreyed((id) => greyed.push(id));
    const check = async () => {
      const status = await api.server.command("tad.checkGradients", wanted);
      api.store.takeAnswer(status);
      assert.equal(status.status, "proved", status.reason);
      greyed.length = 0;
    };
    const insert = (at, text) => editor.edit((edit) => edit.insert(at, text));
    await check();
    await insert(positionOf(editor.document, "numerator / tl.sum"), "1.0 * ");
    await until("a greyed result", () => greyed.includes(key));
    await check();
    const name = positionOf(editor.document, "softmax_kernel(");
    await insert(positionOf(editor.document, "numerator / tl.sum"), "2.0 * ");
    await insert(name, "other_");
    const gone = async () => !(await api.server.command("tad.kernels", { uri: wanted.uri })).some((one) => one.kernel === wanted.kernel);
    await until("another name", gone);
    await new Promise((resolve) => setTimeout(resolve, 1000)); // the view has followed
    await editor.edit((edit) => edit.delete(new vscode.Range(name, name.translate(0, "other_".length))));
    await until("a result greyed later", () => greyed.includes(key));
    listening.dispose();
    await vscode.commands.executeCommand("workbench.action.files.revert");
  },

  async "a command means the kernel beside a panel that has the focus"() {
    await vscode.commands.executeCommand("workbench.action.closeAllEditors");
    await open("refused.py");
    await vscode.commands.executeCommand("tad.showGradients", place("refused.py", "largest_kernel"));
    await until("the panel", () => vscode.window.activeTextEditor === undefined);
    await vscode.commands.executeCommand("tad.checkKernel");
    const status = await until("the result", () => api.store.get(file("refused.py").toString(), "largest_kernel"));
    assert.equal(status.status, "refused");
    await vscode.commands.executeCommand("workbench.action.closeAllEditors");
  },

  async "the light bulb offers the backward as a preview"() {
    const { document } = await open("layer_norm.py");
    const name = positionOf(document, "layer_norm_row_kernel(");
    const offered = await until("an offer", async () => {
      const list = await actions(document, new vscode.Range(name, name));
      return list.find((action) => /backward/i.test(action.title) && !action.disabled);
    });
    await vscode.commands.executeCommand(offered.command.command, ...offered.command.arguments);
    const input = await until("the new module beside", () => {
      const active = vscode.window.tabGroups.activeTabGroup.activeTab?.input;
      return active?.uri?.scheme === "tad-backward" && active;
    });
    const proposed = await vscode.workspace.openTextDocument(input.uri);
    assert.match(proposed.getText(), /def layer_norm_row_kernel_backward/);
    await vscode.commands.executeCommand("tad.discardBackward");
  },

  async "a model is asked with the kept key, and its derivative is put in when it is proved"() {
    const power = "(x + 6) * (x + 6)";
    const small = [0, 1, 2, 3, 4, 5].map((i) => ` - 1 / (x + ${i})`).join("");
    const rule = `# tad: backward of log_gamma(x): grad * (tl.log(x + 6) - 0.5 / (x + 6) - 1.0 / (12 * ${power}) + 1.0 / (120.0 * ${power} * ${power}) - 3.968253968e-3 / (${power} * ${power} * ${power})${small})`;
    // A session each.
    const failing = [
      { status: 401, text: "Incorrect API key provided" },
      { text: "# tad: backward of log_gamma(x): grad / x" },
      { text: "```python\nopen('/etc/passwd').read()\n```" },
      { text: rule, bytes: 50_000_000 },
      { status: 429, text: "busy", headers: { "Retry-After": "3600" } },
    ];
    // One session: what passes is tried again.
    const right = [
      { status: 429, text: "busy", headers: { "Retry-After": "1" } },
      { status: 503, text: "it broke" },
      { text: rule, cut: true },
      { text: `It took me a while.\n\n\`\`\`python\n${rule}\n\`\`\`\nI am sure.`, delay: 3000 },
    ];
    const model = await scripted.listen([...failing, ...right]);
    const put = (variable, name, text) => {
      fs.mkdirSync(path.join(process.env[variable], "tad-lsp"), { recursive: true, mode: 0o700 });
      fs.writeFileSync(path.join(process.env[variable], "tad-lsp", name), text, { mode: 0o600 });
    };
    put("XDG_CONFIG_HOME", "model.toml", `endpoint = "${model.endpoint}"\nmodel = "scripted"\nmax-iters = 1\n`);
    put("XDG_STATE_HOME", "agreed.json", JSON.stringify({ agreed: [{ workspace: workspace().fsPath, url: `${model.endpoint}/chat/completions` }] }));
    fs.writeFileSync(
      file("gamma.py").fsPath,
      "import triton\nimport triton.language as tl\nfrom triton.language.extra import libdevice\n\n\n@triton.jit\ndef log_gamma(x):\n    return libdevice.lgamma(x)\n\n\n" +
        "@triton.jit\ndef gamma_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):\n    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n" +
        "    x = tl.load(x_ptr + i, mask=i < n, other=1.0)\n    tl.store(y_ptr + i, log_gamma(1 + x * x), mask=i < n)\n",
    );
    await api.keepModelKey("sk-kept-0123456789");
    const { document } = await open("gamma.py");
    await until("lenses", async () => (await lenses(document)).length > 0);
    const text = document.getText();
    for (let i = 1; i <= failing.length; i++) {
      await vscode.commands.executeCommand("tad.ask", place("gamma.py", "gamma_kernel"));
      assert.equal(model.asked.length, i);
      assert.equal(document.getText(), text);
    }
    await vscode.commands.executeCommand("tad.ask", place("gamma.py", "gamma_kernel"));
    await until("the derivative", () => document.getText().includes(`${rule}\n@triton.jit\ndef log_gamma(x):`));
    assert.deepEqual(model.asked, [...failing, ...right].map(() => "Bearer sk-kept-0123456789"));
    model.close();
    await api.keepModelKey("");
    await open("gamma.py");
    await vscode.commands.executeCommand("workbench.action.files.revert");
  },

  async "the sample kernel is in no file: its backward goes below it, and is proved"() {
    await vscode.commands.executeCommand("tad.openSample");
    const { document } = vscode.window.activeTextEditor;
    assert.ok(document.isUntitled);
    const untitled = { uri: api.server.uriText(document.uri), kernel: "gelu_kernel" };
    await until("lenses", async () => (await lenses(document)).some((lens) => lens.command?.command === "tad.generateBackward"));
    assert.deepEqual(problems(document).filter((one) => one.severity <= vscode.DiagnosticSeverity.Warning), []);
    await vscode.commands.executeCommand("tad.generateBackward", untitled);
    await until("a diff editor", () => vscode.window.tabGroups.activeTabGroup.activeTab?.input instanceof vscode.TabInputTextDiff);
    assert.equal(vscode.window.activeTextEditor.document.languageId, "python");
    await vscode.commands.executeCommand("tad.acceptBackward");
    await until("the backward", () => document.getText().includes("def gelu_kernel_backward("));
    const cursor = vscode.window.activeTextEditor.selection.active;
    assert.match(document.lineAt(cursor.line).text, /^def gelu_kernel_backward/, "the cursor is at what is new");
    await until("a proved status", () => api.store.get(untitled.uri, untitled.kernel)?.status === "proved");
    await vscode.commands.executeCommand("workbench.action.revertAndCloseActiveEditor");
  },

  async "a server that dies is started again, and nobody is bothered with it"() {
    await vscode.commands.executeCommand("workbench.action.closeAllEditors");
    const { document } = await open("softmax.py");
    const states = [];
    const listening = api.server.onHealth((health) => states.push(health.state));
    const own = await until("the process", () => fs.readdirSync("/proc").find((pid) => isServer(pid)));
    process.kill(Number(own), "SIGKILL");
    await until("a running server", () => states.at(-1) === "running");
    listening.dispose();
    assert.ok(!states.includes("failed"), states.join());
    assert.equal(api.store.get(place("softmax.py", "softmax_kernel").uri, "softmax_kernel"), undefined, "the new server knows of no check");
    await until("lenses of the new server", async () => (await lenses(document)).length > 0);
  },

  async "the server is started again on command"() {
    const { document } = await open("softmax.py");
    const states = [];
    const listening = api.server.onHealth((health) => states.push(health.state));
    await vscode.commands.executeCommand("tad.restartServer");
    listening.dispose();
    assert.deepEqual([states.includes("stopped"), states.at(-1)], [true, "running"]);
    await until("lenses of the new server", async () => (await lenses(document)).length > 0);
  },

  async "a check is cancelled"() {
    await open("slow.py");
    const source = new vscode.CancellationTokenSource();
    const wanted = place("slow.py", "slow_kernel");
    const check = api.server.command("tad.checkGradients", wanted, source.token);
    await until("the check runs", () => api.store.get(wanted.uri, wanted.kernel)?.status === "running");
    source.cancel();
    await assert.rejects(check, (error) => error.code === -32800 || error instanceof vscode.CancellationError);
    await until("nothing is known of it", () => api.store.get(wanted.uri, wanted.kernel)?.status === "unchecked");
  },

  async "a setting that names no server is said, and nothing else is started"() {
    const settings = vscode.workspace.getConfiguration("tad");
    await settings.update("server.path", "/nowhere/tad-lsp", vscode.ConfigurationTarget.Global);
    const health = await until("the complaint", () => api.server.current.state === "missing" && api.server.current);
    assert.match(health.problem, /\/nowhere\/tad-lsp/);
    await settings.update("server.path", undefined, vscode.ConfigurationTarget.Global);
    await until("a running server", () => api.server.current.state === "running");
  },
};

exports.run = async function run() {
  let failed = 0;
  const chosen = Object.entries(vscode.workspace.workspaceFile ? testsOfTwoRoots : tests);
  for (const [name, test] of chosen) {
    const started = Date.now();
    try {
      await test();
      console.log(`host ok ${name} (${Date.now() - started} ms)`);
    } catch (error) {
      failed++;
      console.log(`host not ok ${name}\n${error?.stack ?? error}`);
    }
  }
  console.log(`host: ${chosen.length - failed} passed, ${failed} failed`);
  if (failed) throw new Error(`${failed} tests failed`);
};
