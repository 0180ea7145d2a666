"""Launchers are evaluated once a snapshot for each choice of sizes and flags, whoever asks and however often."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.cli.conftest import HEADER, Workspace

ROOT = Path(__file__).resolve().parents[2]
COMMANDS = {
    "check": ("--check", "--grad"),
    "function": ("--backward", "--no-proof"),
    "operator": ("--backward", "--no-proof", "--wrapper", "triton_op"),
    "actions": ("--dump", "actions"),
    "launches": ("--dump", "launches"),
}
SHARED = """import triton
import triton.language as tl


@triton.jit
def cube_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n, other=0.0)
    tl.store(y_ptr + offsets, x * x * x, mask=offsets < n)


def cube(x):
    y = x.new_empty(x.shape)
    cube_kernel[(triton.cdiv(x.numel(), 64),)](x, y, x.numel(), BLOCK=64)
    return y
"""
IMPORTING = """import torch
import triton

from shared import cube_kernel


def cubes(x):
    y, z = torch.empty_like(x), torch.empty_like(x)
    cube_kernel[(triton.cdiv(x.numel(), 32),)](x, y, x.numel(), BLOCK=32)
    cube_kernel[(triton.cdiv(x.numel(), 32),)](y, z, x.numel(), BLOCK=32)
    return z
"""


def evaluations(workspace: Workspace, *arguments: object) -> list[str]:
    """What was evaluated, a line each: file and line of the launch, kernel, choice."""
    run = workspace.tad(*arguments, env={"TAD_WATCH_LAUNCHES": "1"})
    assert run.status in (0, 1), run.stderr
    return re.findall(r"^tad-lsp: evaluated: (.+)$", run.stderr, re.M)


def launches(lines: list[str]) -> set[str]:
    return {line.split(" seed=")[0] for line in lines}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(("example", "kernels"), [("rms_norm", 1), ("matmul", 4)])
def test_each_choice_once(workspace: Workspace, example: str, kernels: int, command: str) -> None:
    lines = evaluations(workspace, *COMMANDS[command], ROOT / "examples" / f"{example}.py")
    assert len(launches(lines)) == kernels
    assert sorted(lines) == sorted(set(lines))
    if command == "launches":
        assert len(lines) == kernels
    else:
        # the choice that all who ask have in common
        common = [line for line in lines if line.endswith("seed=0 variant=0 blocks=1 sizes=0")]
        assert len(common) == kernels


@pytest.mark.parametrize("command", ["check", "actions", "launches"])
def test_each_choice_once_across_files(workspace: Workspace, command: str) -> None:
    workspace.write({"shared.py": SHARED, "importing.py": IMPORTING})
    lines = evaluations(
        workspace, *COMMANDS[command], "." if command == "check" else "importing.py"
    )
    assert sorted(lines) == sorted(set(lines))
    if command == "launches":
        assert launches(lines) == {"importing.py:9 cube_kernel", "importing.py:10 cube_kernel"}


def test_a_kernel_with_any_names_is_asked_for_any(workspace: Workspace) -> None:
    """`**meta` of Triton 1: a grid may ask for whatever the launch passes."""
    kernel = """@triton.jit
def copy(x, y, n, **meta):
    i = tl.program_id(0) * meta["SIZE"] + tl.arange(0, meta["SIZE"])
    tl.store(y + i, tl.load(x + i, mask=i < n), mask=i < n)


def run(x):
    y = torch.empty_like(x)
    copy[lambda meta: (triton.cdiv(x.numel(), meta["SIZE"]),)](x, y, x.numel(), SIZE=128)
    return y
"""
    workspace.write({"old.py": HEADER + kernel})
    assert "launch-grid" not in workspace.tad("--check", "old.py", "-f", "concise").stdout
    workspace.write({"new.py": HEADER + kernel.replace("**meta", "SIZE_: tl.constexpr")})
    assert "launch-grid" in workspace.tad("--check", "new.py", "-f", "concise").stdout


ROWS = (
    HEADER
    + """import torch


@triton.jit
def rows(x_ptr, y_ptr, stride):
    row = tl.program_id(0)
    x = tl.load(x_ptr + row * stride + tl.arange(0, 64))
    tl.store(y_ptr + row * stride + tl.arange(0, 64), x)


def launch(device):
    x = torch.zeros((ROWS, 65536), dtype=torch.int8, device=device)
    y = torch.empty_like(x)
    rows[(x.shape[0],)](x, y, x.stride(0))
"""
)


@pytest.mark.parametrize("count", [32768, 32770])
def test_offsets_past_31_bits_at_a_launch(workspace: Workspace, count: int) -> None:
    """Nothing is said below, nor where nobody says how large tensors are."""
    workspace.write(
        {"k.py": ROWS.replace("ROWS", str(count)), "open.py": ROWS.split("def launch")[0]}
    )
    found = [d for d in workspace.check().json["diagnostics"] if d["name"] == "offset-overflow"]
    assert [d["severity"] for d in found] == ["warning"] * (count > 32768)
    said = f"an offset comes to {(count - 1) * 65536} at a launch of the file"
    assert all(said in d["message"] for d in found)


GUESSED = """import torch
import triton
import triton.language as tl


@triton.jit
def scale_kernel(o_ptr, factor, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    o = tl.load(o_ptr + i, mask=i < n)
    tl.store(o_ptr + i, o * factor, mask=i < n)


def beside_a_number(x, scale):
    o = x * 2.0
    scale_kernel[(triton.cdiv(x.numel(), 64),)](o, scale * 1.5, x.numel(), BLOCK=64)
    return o


def of_two(x, scale):
    o = 1.0 - x
    scale_kernel[(triton.cdiv(o.numel(), 64),)](o, 1.0 / scale, o.numel(), BLOCK=64)
    return o


def doubled(x, scale):
    o = x + x
    scale_kernel[(triton.cdiv(o.numel(), 64),)](o, scale / 2, o.numel(), BLOCK=64)
    return o
"""


def test_what_is_computed_with_a_number_may_be_a_tensor(workspace: Workspace) -> None:
    """A pointer of the launch, or a method of tensors, says more than a number beside it; `scale` stays a number."""
    workspace.write({"kernels.py": GUESSED})
    shown = workspace.tad("--dump", "launches", "kernels.py").stdout
    assert shown.count("o_ptr = computed[x.shape[0], x.shape[1]]") == 3
    assert len(re.findall(r"factor = .*scale.*  # [0-9.]+\n", shown)) == 3


IN_PLACE = """
import torch
import triton
import triton.language as tl


@triton.jit
def k(x_ptr, y_ptr, n, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr, D: tl.constexpr):
    at = tl.program_id(0) * 16 + tl.arange(0, 16)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n) * A * B * C * D, mask=at < n)


def add(items, item):
    items.append(item)


def run(x):
    y = torch.empty_like(x)
    numbers = [3, 2]
    alias = numbers
    apart = list(numbers)
    alias[0] = 5
    add(alias, 9)
    options = {"b": 3}
    other, kept = options, options.copy()
    other["b"] = 7
    nested = [[11]]
    inner = nested[0]
    inner[0] = 13
    k[(triton.cdiv(x.numel(), 16),)](
        x, y, x.numel(), numbers[0] * 100 + len(numbers), options["b"], nested[0][0], apart[0] * 10 + kept["b"]
    )
    return y
"""


def test_what_is_changed_by_another_name(workspace: Workspace) -> None:
    """A list has one value under all of its names, and its copy keeps the old one."""
    workspace.write({"kernels.py": IN_PLACE})
    shown = workspace.tad("--dump", "launches", "kernels.py").stdout
    for line in ("A = 503", "B = 7", "C = 13", "D = 33"):
        assert f"\n{line}\n" in shown, shown
