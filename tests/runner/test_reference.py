"""`--reference`: what computes the same in PyTorch, timed beside the kernels.

Here PyTorch runs on the processor, and Triton's interpreter in the place of a GPU: the child is the real one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.oracle.pool import PYTHON
from tests.runner.test_protocol import BIN, ROOT
from tests.runner.test_times import cache, launches, variables  # noqa: F401

# What the child is given where there is no GPU: a clock of its own, and kernels that are interpreted.
PATCHED = f"""
import importlib.util, os, sys
os.environ["TRITON_INTERPRET"] = "1"
sys.path.insert(0, {str(ROOT)!r})
import torch
from tests.oracle import shim
shim.apply()
import triton.testing
spec = importlib.util.spec_from_file_location("time_kernels", sys.argv[-1])
timing = importlib.util.module_from_spec(spec)
spec.loader.exec_module(timing)
timing.DEVICE = "cpu"
timing.kernel_of = lambda module, name, triton: getattr(module, name)
torch.cuda.is_available = lambda: True
torch.cuda.synchronize = lambda: None
def bench(run, quantiles):
    run()
    return [0.25, 0.25, 0.25]
triton.testing.do_bench = bench
timing.main()
"""
FILE = """import pathlib

import triton
import triton.language as tl

pathlib.Path({mark!r}).touch()


# tad time: X=f32[M, N], W=f32[N], Y=f32[M, N], M=16, N=64, B=64, grid=(M,)
# tad reference: torch.relu(X) * W
@triton.jit
def scaled(X, W, Y, M, N, B: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, B)
    x = tl.load(X + row * N + at, mask=at < N)
    w = tl.load(W + at, mask=at < N)
    tl.store(Y + row * N + at, tl.maximum(x, 0.0) * w, mask=at < N)
"""
REFERENCE = """import pathlib

import torch

import beside

pathlib.Path({mark!r}).touch()


def scaled(X, W, extra=None):
    return beside.positive(X) * W


def other(X, unknown):
    return X


def wrong(X, W):
    return X * W


def small(W):
    return W
"""


class Folder:
    """A file with a kernel, one with references, and a Python with PyTorch."""

    def __init__(self, path: Path, machine: dict[str, str]) -> None:
        self.path, self.machine = path, machine
        self.ran, self.imported = path / "ran", path / "imported"
        (path / "k.py").write_text(FILE.format(mark=str(self.imported)))
        (path / "r.py").write_text(REFERENCE.format(mark=str(self.ran)))
        (path / "beside.py").write_text("def positive(x):\n    return x.clamp_min(0)\n")
        (path / "patched.py").write_text(PATCHED)
        python = path / "python3"
        python.write_text(
            "#!/bin/sh\nfor last; do :; done\n"
            f'case "$last" in *tad-time-kernels.py) exec {PYTHON} {path}/patched.py "$@";; esac\n'
            f'exec {sys.executable} "$@"\n'
        )
        python.chmod(0o755)

    def tad(self, *arguments: str, python: str | None = None) -> subprocess.CompletedProcess[str]:
        command = [
            str(BIN / "tad-lsp"),
            *arguments,
            "--python",
            python or str(self.path / "python3"),
        ]
        environment = {**os.environ, **self.machine}
        return subprocess.run(
            command, env=environment, cwd=self.path, capture_output=True, text=True, timeout=200
        )

    def row(self, reference: str) -> dict:
        run = self.tad("--bench", "k.py", "--json", "--reference", reference)
        assert run.returncode == 0, run.stderr
        (row,) = json.loads(run.stdout)["kernels"]
        assert row["forward"]["median_ms"] == row["backward"]["median_ms"] == 0.5
        return row["reference"]


@pytest.fixture
def folder(launches: str, cache: Path, tmp_path: Path) -> Folder:  # noqa: F811
    return Folder(tmp_path, variables(launches, cache))


def test_a_line_is_timed_beside_the_kernel(folder: Folder) -> None:
    run = folder.tad("--time", "k.py", "--reference", "lines")
    assert run.returncode == 0, run.stderr
    eager = ", eager: 0.25 ms forward (0.50x as long), 0.25 ms backward (0.50x as long)\n"
    assert eager in run.stdout and "  torch.compile: " in run.stdout
    assert "  the reference: Y differs by 0.0e+00\n" in run.stdout
    assert not folder.imported.exists(), "the module with the kernels never runs"


def test_a_function_of_a_file(folder: Folder) -> None:
    """Named as the kernel, or by itself; it may import what lies beside it. Only then the file runs."""
    assert "reference" not in folder.tad("--time", "k.py").stdout
    assert not folder.ran.exists()
    found = folder.row("r.py")
    assert folder.ran.exists() and not folder.imported.exists()
    assert found["eager"]["forward"]["median_ms"] == found["eager"]["backward"]["median_ms"] == 0.25
    assert found["compared"] == "Y differs by 0.0e+00"
    wrong = folder.row("r.py:wrong")
    assert wrong["compared"].endswith(": it computes something else") and "eager" in wrong


@pytest.mark.parametrize(
    ("reference", "says"),
    [
        ("r.py:none", "r.py has no function `none`"),
        ("r.py:other", "the kernel has no parameter `unknown`, which `other` of "),
        ("r.py:small", "gives a tensor of shape (64,); the kernel stores Y (16, 64)"),
        ("nowhere.py", "nowhere.py: there is no such file where this Python runs"),
        ("beside.py:positive", "the kernel has no parameter `x`"),
    ],
)
def test_what_is_no_reference(reference: str, says: str, folder: Folder) -> None:
    found = folder.row(reference)
    assert says in found["problem"] and "eager" not in found


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("torch.softmax(Z, -1)", "`Z` is no parameter of the kernel"),
        ("X.__class__", "`__class__` begins with an underscore"),
        ("X +", "`X +` is no expression"),
        ("torch.nothing(X)", "the reference does not run: AttributeError"),
        ("3 * M", "the reference gives no tensor"),
        ("open(X)", "`open` is no parameter of the kernel"),
    ],
)
def test_what_is_no_expression(line: str, says: str, folder: Folder) -> None:
    text = (folder.path / "k.py").read_text()
    (folder.path / "k.py").write_text(text.replace("torch.relu(X) * W", line))
    assert says in folder.row("lines")["problem"]


def test_without_a_line_or_without_pytorch(folder: Folder) -> None:
    """The kernels are timed all the same. This Python has Triton and no PyTorch."""
    run = folder.tad("--time", "k.py", "--reference", "lines", python=sys.executable)
    assert run.returncode == 0, run.stderr
    assert "  no reference: " in run.stdout and " has no PyTorch (No module named" in run.stdout
    assert "name a Python that has it by `--python`\n" in run.stdout and "fwd 0.5 ms" in run.stdout
    text = (folder.path / "k.py").read_text()
    (folder.path / "k.py").write_text(text.replace("# tad reference:", "# reference:"))
    run = folder.tad("--bench", "k.py", "--reference", "lines", "--html", "t.html")
    assert (
        "    no reference: no line `# tad reference: ...` stands above the kernel\n" in run.stdout
    )
    assert "no line `# tad reference: ...`" in (folder.path / "t.html").read_text()


def test_wrong_use_and_tables(folder: Folder) -> None:
    run = folder.tad("--check", "k.py", "--reference", "lines")
    assert (run.returncode, "needs --time" in run.stderr) == (2, True)
    run = folder.tad("--check", "--time", "k.py", "--reference", "lines")
    assert "    PyTorch " in run.stdout
    folder.tad("--bench", "k.py", "--reference", "r.py", "--csv", "t.csv")
    rows = (folder.path / "t.csv").read_text().splitlines()
    assert [row.split('",')[1].split(",")[0] for row in rows[1:]][:4] == [
        *["forward", "backward", "eager forward", "eager backward"]
    ]
