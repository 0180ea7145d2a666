"""`--bench`: tables, data and pages of times, and times that are kept; launched against a stand-in for the driver."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.runner.test_protocol import BIN, HEAD
from tests.runner.test_times import cache, launches, variables  # noqa: F401

LINE = "# tad time: X=f32[{0}], Y=f32[{0}], n={0}, BLOCK=1024, grid=({1},)\n"
SQUARES = f"""{HEAD}
{LINE.format(1 << 18, 256)}{LINE.format(1 << 20, 1024)}@triton.jit
def squares(X, Y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(X + at, mask=at < n)
    tl.store(Y + at, x * x, mask=at < n)
"""
ALONE = f"""{HEAD}
# tad: X=f32[n], Y=i32[n], n=300, BLOCK=64, grid=(5,)
@triton.jit
def whole(X, Y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(Y + at, (tl.load(X + at, mask=at < n) > 1).to(tl.int32), mask=at < n)
"""
WRONG = SQUARES.replace("squares", "wrong").replace("x * x", "tl.dot(x, x)")


@dataclass
class Machine:
    """A folder, and the program in it."""

    folder: Path
    variables: dict[str, str]

    def bench(self, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
        command = [str(BIN / "tad-lsp"), "--bench", *arguments, "--python", sys.executable]
        environment = {**os.environ, **self.variables, **more}
        return subprocess.run(
            command, env=environment, cwd=self.folder, capture_output=True, text=True, timeout=300
        )

    def change(self, name: str, milliseconds: float) -> None:
        """What was measured before."""
        times = json.loads((self.folder / name).read_text())
        for row in times["kernels"]:
            for direction in ("forward", "backward"):
                row.get(direction, {})["median_ms"] = milliseconds
        (self.folder / name).write_text(json.dumps(times))


@pytest.fixture
def machine(launches: str, cache: Path, tmp_path: Path) -> Machine:  # noqa: F811
    (tmp_path / "squares.py").write_text(SQUARES)
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/whole.py").write_text(ALONE)
    return Machine(tmp_path, variables(launches, cache))


def test_a_table_of_all_kernels(machine: Machine) -> None:
    run = machine.bench(".")
    assert run.returncode == 0, run.stderr
    assert "a stand-in, Triton 3." in run.stdout and "a copy runs at 1074 GB/s" in run.stdout
    rows = [line.split() for line in run.stdout.splitlines() if line.startswith("  squares")]
    assert [row[:6] for row in rows] == [
        ["squares", "0.5", "0.0%", "4", "0%", "2"],
        ["squares", "0.5", "0.0%", "17", "2%", "8"],
    ]
    # X, the upstream and the gradient: half as much again as X and Y.
    assert rows[1][6:] == ["0.5", "0.0%", "25", "2%", "12", "1.00"]
    assert re.search(r"^  whole +0\.5 +0\.0%$", run.stdout, re.M), "alone, and too small for a rate"
    assert "no backward: " in run.stdout
    assert "1 of 3 at sizes of a proof" in run.stdout
    assert "[3/3] sub/whole.py:whole" in run.stderr


def test_data_and_a_page(machine: Machine) -> None:
    run = machine.bench(".", "--json", "--csv", "t.csv", "--html", "t.html", "-q")
    assert (run.returncode, run.stderr) == (0, "")
    times = json.loads(run.stdout)
    assert [row["kernel"] for row in times["kernels"]] == ["squares", "squares", "whole"]
    forward = times["kernels"][1]["forward"]
    assert (forward["bytes"], forward["runs"]) == (8 << 20, 200)
    backward = times["kernels"][1]["backward"]
    assert (forward["peak_bytes"], backward["peak_bytes"]) == (8 << 20, 12 << 20)
    assert forward["share_of_copy"] == pytest.approx(forward["gb_s"] / times["copy_gb_s"])
    rows = list(csv.DictReader(io.StringIO((machine.folder / "t.csv").read_text())))
    directions = [(row["kernel"], row["direction"]) for row in rows]
    assert directions == [
        *[("squares", "forward"), ("squares", "backward")] * 2,
        ("whole", "forward"),
    ]
    assert float(rows[2]["gb_s"]) == pytest.approx(forward["gb_s"])
    assert rows[2]["configuration"] == times["kernels"][1]["configuration"]
    page = (machine.folder / "t.html").read_text()
    assert "http" not in page and "<script" not in page and "src=" not in page
    plots = [ET.fromstring(text) for text in re.findall(r"<svg.*?</svg>", page, re.S)]
    assert [plot.find("title").text for plot in plots] == ["Roofline", "Time over size"]
    roofline, sizes = plots
    assert len(roofline.findall("circle")) == 2, "the small one is none of it"
    assert len(sizes.findall("circle")) == 4 and len(sizes.findall("path[@class='one']")) == 1
    for plot in plots:
        for circle in plot.findall("circle"):
            assert 70 <= float(circle.get("cx")) <= 620 and 16 <= float(circle.get("cy")) <= 316


def test_names_are_no_markup(machine: Machine) -> None:
    name = "a&b<i>.py"
    (machine.folder / name).write_text(ALONE)
    run = machine.bench(name, "--html", "t.html")
    assert run.returncode == 0, run.stderr
    page = (machine.folder / "t.html").read_text()
    assert "<i>" not in page and "a&#38;b&#60;i&#62;.py" in page


def test_times_are_kept_and_compared(machine: Machine) -> None:
    assert machine.bench("squares.py", "--save-times", "t.json").returncode == 0
    compare = ["--compare-times", "t.json", "--fail-slower"]
    run = machine.bench("squares.py", *compare, "10%")
    assert run.returncode == 0
    assert run.stdout.count("0.5 ms, before 0.5 ms, +0.0 %") == 4 and "slower" not in run.stdout
    machine.change("t.json", 0.4)
    run = machine.bench("squares.py", *compare, "10%")
    assert run.returncode == 1
    assert "squares.py:squares, forward: 0.5 ms, before 0.4 ms, +25.0 %: slower" in run.stdout
    assert machine.bench("squares.py", *compare, "30%").returncode == 0
    assert machine.bench("squares.py", *compare[:2]).returncode == 0, "nobody asked to fail"


def test_what_is_not_compared_is_said(machine: Machine) -> None:
    assert machine.bench(".", "--save-times", "t.json").returncode == 0
    file = machine.folder / "squares.py"
    compare = ["--compare-times", "t.json", "--fail-slower", "0.1"]
    file.write_text(SQUARES.replace("BLOCK=1024, grid=(256,)", "BLOCK=512, grid=(512,)"))
    (machine.folder / "new.py").write_text(ALONE)
    run = machine.bench("squares.py", "new.py", *compare)
    assert run.returncode == 0, run.stderr
    assert "squares.py:squares: not compared: it was timed at other sizes" in run.stdout
    assert "new.py:whole: not compared: it is new" in run.stdout
    file.write_text(WRONG.replace("wrong", "squares"))
    run = machine.bench("squares.py", "new.py", *compare)
    assert run.returncode == 1
    assert "squares.py:squares, forward: it took 0.5 ms, and has no time now" in run.stdout
    times = json.loads((machine.folder / "t.json").read_text())
    (machine.folder / "t.json").write_text(json.dumps({**times, "device": "another"}))
    run = machine.bench("new.py", *compare)
    assert run.returncode == 2 and "is of another GPU (another, here a stand-in)" in run.stderr


def test_what_cannot_be_timed_is_said_and_the_others_are(machine: Machine) -> None:
    (machine.folder / "wrong.py").write_text(WRONG)
    run = machine.bench("wrong.py", "squares.py")
    assert run.returncode == 0
    assert run.stderr.count("wrong.py:wrong: ") == 2
    assert run.stdout.count("  squares ") == 2
    run = machine.bench("wrong.py")
    assert run.returncode == 2 and "no kernel could be timed" in run.stderr
    run = machine.bench("squares.py:nobody")
    assert run.returncode == 2 and "squares.py has no forward kernel `nobody`" in run.stderr


def test_what_this_machine_lacks_is_said_once(machine: Machine) -> None:
    run = machine.bench("squares.py", TAD_LIBCUDA="/nowhere.so")
    assert run.returncode == 2
    assert run.stderr.count("TAD_LIBCUDA names no library") == 1
    assert "[2/2]" not in run.stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--fail-slower", "10%"], "--fail-slower needs --compare-times FILE"),
        (["--fail-slower", "much", "--compare-times", "t.json"], "a share such as 10%, not `much`"),
        (["--compare-times", "squares.py"], "has no kept times; --save-times writes them"),
        (["--csv", "squares.py"], "squares.py"),
        (["--html", "other.txt"], "other.txt"),
    ],
)
def test_wrong_use(arguments: list[str], says: str, machine: Machine) -> None:
    (machine.folder / "other.txt").write_text("mine\n")
    run = machine.bench("squares.py", *arguments)
    assert run.returncode == 2 and says in run.stderr
    assert (machine.folder / "other.txt").read_text() == "mine\n"
    assert (machine.folder / "squares.py").read_text() == SQUARES


def test_the_rate_of_a_copy_is_measured_once(launches: str, tmp_path: Path) -> None:  # noqa: F811
    (tmp_path / "squares.py").write_text(SQUARES)
    fresh = Machine(tmp_path, variables(launches, tmp_path / "home"))
    first = json.loads(fresh.bench("squares.py", "--json").stdout)["copy_gb_s"]
    (kept,) = (tmp_path / "home/tad-lsp/cuda").glob("*.code")
    text = kept.read_bytes()
    assert json.loads(fresh.bench("squares.py", "--json").stdout)["copy_gb_s"] == first
    assert kept.read_bytes() == text


PRODUCT = """import triton
import triton.language as tl


# tad time: A=f16[N, N], B=f16[N, N], C=f16[N, N], N=1024, BLOCK=64, grid=(cdiv(N, BLOCK), cdiv(N, BLOCK))
@triton.jit
def product(A, B, C, N, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK, BLOCK), tl.float32)
    for k in range(0, N, BLOCK):
        inner = k + tl.arange(0, BLOCK)
        a = tl.load(A + rows[:, None] * N + inner[None, :])
        total += tl.dot(a, tl.load(B + inner[:, None] * N + columns[None, :]))
    tl.store(C + rows[:, None] * N + columns[None, :], total)
"""


def test_products_are_held_against_a_product(machine: Machine) -> None:
    (machine.folder / "product.py").write_text(PRODUCT)
    run = machine.bench("product.py", "--json", "--html", "page.html")
    times = json.loads(run.stdout)
    assert times["matrix_tflop_s"] == pytest.approx(2 * 8192**3 / 0.5e-3 / 1e12)
    (row,) = times["kernels"]
    speed = 2 * 1024**3 / 0.5e-3 / 1e12
    assert row["forward"]["tflop_s"] == pytest.approx(speed, rel=0.02), "sums are counted, too"
    share = row["forward"]["tflop_s"] / times["matrix_tflop_s"]
    assert row["forward"]["share_of_matrix"] == pytest.approx(share)
    page = (machine.folder / "page.html").read_text()
    assert "and of a matrix product in half precision, on this GPU" in page
    assert page.count('class="roof"') == 2
    assert (
        "a matrix product in half precision at 2199 TFLOP/s" in machine.bench("product.py").stdout
    )
    command = [str(BIN / "tad-lsp"), "--time", "product.py", "--python", sys.executable]
    run = subprocess.run(
        command,
        env={**os.environ, **machine.variables},
        cwd=machine.folder,
        capture_output=True,
        text=True,
    )
    assert ", 4.33 TFLOP/s, 0 % of a matrix product's)" in run.stdout


DESCRIBED = f"""{HEAD}
import torch
from triton.tools.tensor_descriptor import TensorDescriptor


@triton.jit
def tripled(x_desc, y_desc, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    at = [tl.program_id(0) * ROWS, tl.program_id(1) * COLUMNS]
    y_desc.store(at, x_desc.load(at) * 3)


def triple(x):
    y = torch.empty_like(x)
    m, n = x.shape
    described = [TensorDescriptor.from_tensor(t, [64, 64]) for t in (x, y)]
    x_desc, y_desc = described
    grid = (triton.cdiv(m, 64), triton.cdiv(n, 64))
    tripled[grid](x_desc, y_desc, ROWS=64, COLUMNS=64)
    return y
"""


def test_descriptors_of_a_launcher_are_timed(machine: Machine) -> None:
    """At a proof's sizes, too: their rows are then as far apart as TMA wants it."""
    (machine.folder / "described.py").write_text(DESCRIBED)
    run = machine.bench("described.py")
    assert run.returncode == 0, run.stderr + run.stdout
    assert re.search(r"^  tripled +0\.5", run.stdout, re.M), run.stdout
