"""Runs the real `tad-lsp` of the folder TAD_BIN, in a folder of its own for each test."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(os.environ.get("TAD_BIN", ROOT / "build")).resolve()


@dataclass(frozen=True)
class Result:
    """What one run of the program left."""

    status: int
    stdout: str
    stderr: str

    @property
    def json(self) -> dict:
        return json.loads(self.stdout)

    @property
    def names(self) -> list[str]:
        """Names of the diagnostics of a `--format json` run, hints aside."""
        return [d["name"] for d in self.json["diagnostics"] if d["severity"] != "hint"]


def schedule(*arguments: object) -> str:
    """What `--dump schedule` prints of the repository's files."""
    run = subprocess.run(
        [str(BIN / "tad-lsp"), "--dump", "schedule", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        cwd=ROOT,
    )
    assert run.returncode == 0, run.stderr
    return run.stdout


class Workspace:
    """A folder with files, and the program run in it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def write(self, files: dict[str, str | bytes]) -> None:
        for name, content in files.items():
            file = self.path / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content.encode() if isinstance(content, str) else content)

    def tad(self, *arguments: object, env: dict[str, str] | None = None, limit: float = 120) -> Result:
        run = subprocess.run(
            [str(BIN / "tad-lsp"), *map(str, arguments)],
            cwd=self.path,
            env={**os.environ, **(env or {})},
            capture_output=True,
            timeout=limit,
            check=False,
        )
        return Result(run.returncode, run.stdout.decode(), run.stderr.decode())

    def check(self, *arguments: object) -> Result:
        """`--check . --format json` with more arguments."""
        return self.tad("--check", ".", "--format", "json", *arguments)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


HEADER = "import triton\nimport triton.language as tl\n\n\n"

CLEAN = (
    HEADER
    + """@triton.jit
def scale_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0)
    tl.store(y_ptr + offsets, x * 3.0, mask=mask)
"""
)

# One certain error: line 10 (one-based), `tl.lod`.
BROKEN = CLEAN.replace("tl.load", "tl.lod")
BROKEN_LINE = 9


FAKE_RUNNER = '''#!{python}
"""Stands in for tad-runner: does what the kernel's name says."""
import json, os, pathlib, sys, time

def read():
    size = 0
    while (line := sys.stdin.buffer.readline().strip()):
        if line.lower().startswith(b"content-length:"):
            size = int(line.split(b":")[1])
    if not size:
        sys.exit(0)
    return json.loads(sys.stdin.buffer.read(size))

def answer(message, **rest):
    body = json.dumps({{"jsonrpc": "2.0", "id": message["id"], **rest}}).encode()
    sys.stdout.buffer.write(b"Content-Length: %d\\r\\n\\r\\n" % len(body) + body)
    sys.stdout.buffer.flush()

here = pathlib.Path(__file__).parent
while True:
    message = read()
    params = message["params"]
    kernel = params.get("kernel", "")
    with open(here / "requests.jsonl", "a") as log:
        log.write(json.dumps({{"pid": os.getpid(), **message}}) + "\\n")
    if "dies" in kernel:
        print("the last words", file=sys.stderr, flush=True)
        os.abort()
    if "first_time" in kernel and not (here / "seen").exists():
        (here / "seen").touch()
        os.kill(os.getpid(), 9)
    if "hangs" in kernel:
        time.sleep(600)
    if "garbage" in kernel:
        sys.stdout.write("Content-Length: 5\\r\\n\\r\\nhello")
        sys.stdout.flush()
        time.sleep(600)
    if "refused" in kernel:
        answer(message, error={{"code": -32000, "message": "cannot run this"}})
    elif "wrong" in kernel:
        answer(message, result={{"status": "failed", "reason": "dx[3]: expected 3, got 0",
                                "worst_error": 1.0}})
    elif "differing" in kernel:
        answer(message, result={{"status": "unproved", "reason": "dx[3] is off with sizes that are made up",
                                "contradicted": True}})
    elif "racing" in kernel:
        answer(message, result={{"status": "unproved", "reason": "race in a launch of this file",
                                "findings": [{{"kind": "race", "kernel": kernel, "line": 9, "message": "two store"}}]}})
    elif "late" in kernel:
        answer(message, result={{"status": "unproved", "reason": "incomplete: 7 checked in 3 s", "incomplete": True}})
    elif "unsure" in kernel:
        answer(message, result={{"status": "unproved", "reason": "not finite"}})
    else:
        answer(message, result={{"status": "proved", "reason": "", "worst_error": 2.5e-10}})
'''


@pytest.fixture
def fake_runner(tmp_path: Path) -> Path:
    """A worker that proves, fails, dies or hangs by the kernel's name. Its requests are in `requests.jsonl`."""
    folder = tmp_path / "bin"
    folder.mkdir()
    runner = folder / "fake-runner"
    runner.write_text(FAKE_RUNNER.format(python=sys.executable))
    runner.chmod(0o755)
    return runner
