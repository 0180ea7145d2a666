// Stands in for @vscode/spdlog, which would have to be compiled: a logger that appends lines to its file.
"use strict";
const fs = require("node:fs");

class Logger {
  constructor(name, file) {
    this.file = file;
  }
  write(level, text) {
    fs.appendFileSync(this.file, `${new Date().toISOString()} [${level}] ${text}\n`);
  }
  setPattern() {}
  clearFormatters() {
    this.write = (level, text) => fs.appendFileSync(this.file, text);
  }
  setLevel() {}
  getLevel() {
    return 0;
  }
  flush() {}
  drop() {}
}
for (const level of ["trace", "debug", "info", "warn", "error", "critical"])
  Logger.prototype[level] = function (text) {
    this.write(level, text);
  };

const make = async (name, file) => new Logger(name, file);
module.exports = {
  version: 0,
  Logger,
  setFlushOn() {},
  setLevel() {},
  shutdown() {},
  createRotatingLogger: make,
  createAsyncRotatingLogger: make,
};
