"""The written modules as text: formatted as ruff leaves them, without its findings, read back without ours."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.emitted.plan import EXAMPLES, FILES, KERNELS, tad

# A launcher beyond these is in nobody's way: the forward is written as it is, so it is formatted first.
FORMAT = ("format", "--isolated", "--no-cache", "--line-length", "88")
CHECK = ("check", "--isolated", "--no-cache", "--select", "F,E9")


def ruff(*arguments: object) -> subprocess.CompletedProcess[str]:
    """The formatter and linter that is installed beside this Python."""
    program = Path(sys.executable).parent / "ruff"
    return subprocess.run(
        [str(program), *map(str, arguments)], capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> dict[Path, Path]:
    """Each file, formatted as its author might, and the backward module written for it."""
    folder = tmp_path_factory.mktemp("written")
    modules = {}
    for path in FILES:
        source, target = folder / f"{path.stem}.py", folder / f"{path.stem}_backward.py"
        source.write_text(path.read_text())
        formatted = ruff(*FORMAT, source)
        assert formatted.returncode == 0, formatted.stderr
        run = tad("--backward", source, "-o", target)
        assert run.returncode in (0, 1), run.stderr
        assert target.exists()
        if target.exists():
            modules[path] = target
    return modules


def test_formatted(written: dict[Path, Path]) -> None:
    """`ruff format --line-length 88` changes nothing."""
    run = ruff(*FORMAT, "--diff", *written.values())
    assert run.stdout == ""
    assert run.returncode == 0, run.stderr


CHOICES = """import triton
import triton.language as tl


@triton.autotune(configs=[CONFIG], key=["n"])
@triton.jit
def square(x_ptr, y_ptr, n, BLOCK: tl.constexpr, REST_OF_IT: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n)
    tl.store(y_ptr + offs, x * x, mask=offs < n)
"""


@pytest.mark.parametrize(
    "configurations",
    [
        'triton.Config({"BLOCK": b, "REST_OF_IT": 1}, num_warps=w) for b, w in ((256, 2), (512, 4))',
        'triton.Config({"BLOCK": b, "REST_OF_IT": 1}, num_warps=w) for (b, o), w in [((256, o), 2)] '
        "for o in range(2) if b * w < 10000 and b > 7",
        '*map(lambda b, w: triton.Config({"BLOCK": b, "REST_OF_IT": 1}, num_warps=w), (256,), (2,))',
    ],
    ids=["two names", "two loops and a condition", "lambda"],
)
def test_commas_between_names(configurations: str, tmp_path: Path) -> None:
    """A comma of `for a, b in` or of `lambda a, b:` ends no item."""
    path, target = tmp_path / "tuned.py", tmp_path / "tuned_backward.py"
    path.write_text(CHOICES.replace("CONFIG", configurations))
    assert ruff(*FORMAT, path).returncode == 0
    assert tad("--backward", path, "--no-proof", "-o", target).returncode == 0
    assert ruff(*FORMAT, "--diff", target).stdout == ""


def test_no_findings_of_ruff(written: dict[Path, Path]) -> None:
    """No unused import, no name that nobody defines, nothing that does not parse."""
    run = ruff(*CHECK, *written.values())
    assert run.returncode == 0, run.stdout


@pytest.mark.parametrize("path", KERNELS + EXAMPLES, ids=lambda path: path.stem)
def test_read_back(path: Path, written: dict[Path, Path]) -> None:
    """tad-lsp itself has no error and no more warnings about what it wrote than about the original."""
    if path not in written:
        return
    before = findings(path)
    after = findings(written[path])
    assert [f for f in after if f not in before] == []


def findings(path: Path) -> list[tuple[str, str]]:
    """Names and messages of errors and warnings."""
    run = tad("--check", "-f", "json", path)
    assert run.returncode in (0, 1), run.stderr
    report = json.loads(run.stdout)
    assert report["problems"] == []
    severe = [d for d in report["diagnostics"] if d["severity"] in ("error", "warning")]
    return [(d["name"], d["message"]) for d in severe]


@pytest.mark.parametrize("kernel", ["guarded_rows", "added_masks"])
def test_online_softmax_in_one_pass(kernel: str, written: dict[Path, Path]) -> None:
    """No iteration of the loop is computed anew for another, and no state is kept."""
    path = next(p for p in written if p.name == "online.py")
    tree = ast.parse(written[path].read_text())
    backward = next(
        n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == f"{kernel}_backward"
    )
    loops = [n for n in ast.walk(backward) if isinstance(n, ast.For)]
    assert loops
    assert not any(isinstance(n, ast.For) for loop in loops for n in ast.walk(loop) if n != loop)
    assert not any("tape" in a.arg for a in backward.args.args)


def test_numbers_below_float32(tmp_path: Path) -> None:
    """Up to Triton 3.6 a function makes a float64 of a number that is no normal float32: its type is written."""
    source = tmp_path / "least.py"
    source.write_text(
        """import triton
import triton.language as tl


@triton.jit
def least(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + lanes, mask=lanes < n, other=1.0).to(tl.float32)
    tl.store(y_ptr + lanes, 1.0 / tl.maximum(x * x, 1e-40) + tl.maximum(x, 1e-30), mask=lanes < n)
"""
    )
    text = tad("--backward", f"{source}:least", "--wrapper", "none").stdout
    backward = text[text.index("def least_backward") :]
    assert "tl.full([], 1e-40, tl.float32)" in backward
    assert "tl.full([], 1e-30" not in backward
