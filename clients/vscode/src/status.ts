// The language status item beside "Python": whether the server runs, which one, and in what way it is limited.
import * as vscode from "vscode";
import type { Health, Server } from "./server";

export class StatusItem implements vscode.Disposable {
  private readonly item = vscode.languages.createLanguageStatusItem("tad.status", { language: "python" });
  private readonly subscriptions: vscode.Disposable[];

  constructor(server: Server) {
    this.item.name = "tad-lsp";
    this.subscriptions = [
      server.onHealth((health) => this.show(health)),
      vscode.workspace.onDidGrantWorkspaceTrust(() => this.show(server.current)),
    ];
    this.show(server.current);
  }

  dispose(): void {
    this.item.dispose();
    for (const subscription of this.subscriptions) subscription.dispose();
  }

  private show(health: Health): void {
    this.item.busy = health.state === "starting";
    this.item.severity = vscode.LanguageStatusSeverity.Information;
    this.item.command = { title: "Show Output", command: "tad.showOutput" };
    switch (health.state) {
      case "stopped":
        this.item.text = "tad-lsp stopped";
        this.item.detail = undefined;
        this.item.command = { title: "Start", command: "tad.restartServer" };
        break;
      case "starting":
        this.item.text = "tad-lsp starting";
        this.item.detail = undefined;
        break;
      case "running":
        this.item.text = `tad-lsp ${health.version}`.trim();
        this.item.detail = vscode.workspace.isTrusted
          ? `${health.origin}: ${health.file}`
          : "restricted mode: no gradient checks";
        if (!vscode.workspace.isTrusted) {
          this.item.severity = vscode.LanguageStatusSeverity.Warning;
          this.item.command = { title: "Manage Trust", command: "workbench.trust.manage" };
        }
        break;
      case "missing":
      case "failed":
        this.item.text = health.state === "missing" ? "tad-lsp not found" : "tad-lsp failed";
        this.item.detail = health.problem;
        this.item.severity = vscode.LanguageStatusSeverity.Error;
        break;
    }
  }
}
