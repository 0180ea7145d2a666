"""What tad-lsp derives from a file, and how it wants that run: the very requests it sends to tad-runner.

In: a file of kernels.  Out: per kernel the text of the backward, its launches and what each argument is bound to.
`Runner` is a tad-runner to put requests of one's own to.
"""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import BinaryIO

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(os.environ.get("TAD_BIN", ROOT / "build")).resolve()
KERNELS = sorted((ROOT / "tests" / "emitted" / "kernels").glob("*.py"))
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
FILES = KERNELS + EXAMPLES
LIMIT = 120.0


def read_frame(stream: BinaryIO) -> dict | None:
    """One message of the protocol, None at the end."""
    size = 0
    while line := stream.readline().strip():
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            size = int(value)
    return json.loads(stream.read(size)) if size else None


def write_frame(stream: BinaryIO, message: dict) -> None:
    """Sends one message."""
    body = json.dumps(message).encode()
    stream.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
    stream.flush()


def record(log: Path) -> None:
    """Stands in for tad-runner: notes every request and proves nothing."""
    while message := read_frame(sys.stdin.buffer):
        with log.open("a") as file:
            file.write(json.dumps(message) + "\n")
        result = {"status": "unproved", "reason": "recorded", "worst_error": None}
        write_frame(sys.stdout.buffer, {"jsonrpc": "2.0", "id": message["id"], "result": result})


def tad(*arguments: object, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """One run of tad-lsp."""
    command = [str(BIN / "tad-lsp"), *map(str, arguments)]
    return subprocess.run(
        command, cwd=cwd, capture_output=True, text=True, timeout=LIMIT, check=False
    )


def helper_texts(text: str, *names: str) -> str:
    """The functions of these names that an emitted module carries."""
    starts = [text.index(f"def {name}(") for name in names]
    return "\n\n\n".join(text[start : text.index("\n\n\n", start)] for start in starts)


def proved_module(folder: Path, text: str) -> str:
    """The module for a file with that text, proved."""
    source = folder / "source.py"
    source.write_text(text)
    run = tad("--backward", source)
    assert run.returncode == 0, run.stderr
    assert "gradients proved" in run.stderr, run.stderr
    return run.stdout


@functools.cache
def derived(path: Path, *flags: str) -> tuple[dict[str, dict], dict[str, dict]]:
    """Per kernel: the entry of the JSON report, and the `params` of the proof it would ask for."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "requests.jsonl"
        log.touch()
        program = Path(folder) / "recorder"
        program.write_text(
            f"#!{sys.executable}\nimport sys\nfrom pathlib import Path\n"
            f"sys.path.insert(0, {str(ROOT)!r})\n"
            f"from tests.emitted.plan import record\nrecord(Path({str(log)!r}))\n"
        )
        program.chmod(0o755)
        run = tad("--check", "--grad", "--jobs", 1, "--runner", program, "-f", "json", path, *flags)
        assert run.returncode in (0, 1), run.stderr
        entries = {kernel["name"]: kernel for kernel in json.loads(run.stdout)["kernels"]}
        requests = [json.loads(line) for line in log.read_text().splitlines()]
    proofs = {r["params"]["kernel"]: r["params"] for r in requests if r["method"] == "gradcheck"}
    return entries, proofs


@functools.cache
def kernels(files: tuple[Path, ...]) -> dict[str, tuple[Path, str]]:
    """`file:kernel` -> file and kernel, for every forward kernel of the files."""
    return {
        f"{path.stem}:{name}": (path, name) for path in files for name in sorted(derived(path)[0])
    }


class Runner:
    """A tad-runner that answers one request at a time."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [str(BIN / "tad-runner")], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self.count = 0

    def ask(self, method: str, params: dict) -> dict:
        """The result; an error of the protocol is a failure of the test."""
        assert self.process.stdin and self.process.stdout
        self.count += 1
        message = {"jsonrpc": "2.0", "id": self.count, "method": method, "params": params}
        write_frame(self.process.stdin, message)
        while answer := read_frame(self.process.stdout):
            if answer.get("id") == self.count:
                assert "error" not in answer, answer["error"]
                return answer["result"]
        raise AssertionError("tad-runner ended")

    def close(self) -> None:
        """Ends it."""
        self.process.kill()
        self.process.communicate()
