"""Every row of the operation table with a derivative that works element by element: a kernel of it alone, proved.

The kernels are made from the table (`--dump ops`), so that a new row is tested without a new test.
"""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.emitted.plan import tad

# Where an operation is defined and smooth; else between 0.2 and 0.9.
DOMAINS = {
    "acosh": "uniform(1.3, 2.5)",
    "add_rz": "uniform(-1, 1)",
    "bessel_jn": "uniform(1, 4)",
    "bessel_yn": "uniform(1, 4)",
    "bessel_y0": "uniform(1, 4)",
    "bessel_y1": "uniform(1, 4)",
    "saturate": "uniform(0.1, 0.9)",
}
# Second arguments that are whole numbers, or whose derivative jumps with the first's.
ARGUMENTS = {
    "ldexp": "x, 3",
    "scalbn": "x, 3",
    "bessel_jn": "2, x",
    "bessel_yn": "2, x",
    "copysign": "x, -1.0",
    "fdim": "x + 1.0, y",
    "remainder": "x, 0.75 + 0.0 * y",
    "fmod": "x, 0.75 + 0.0 * y",
    "nextafter": "x, 9.0",
    "pow": "x, y",
    "clamp": "x, 0.1, 0.95",
}
# The runner has no code for these: derived, not proved.
NOT_EXECUTED = {"bessel_i0", "bessel_i1", "erfcinv", "erfinv", "norm4d", "normcdfinv", "rnorm4d"}
NAMES = "xyzw"


@dataclass
class Row:
    """An operation: how kernels call it, and its parameters that are tiles."""

    id: str
    name: str
    parameters: list[str]

    def call(self) -> str:
        """Over `x`, `y`, ..."""
        arguments = ARGUMENTS.get(self.id) or ", ".join(NAMES[: len(self.parameters)])
        return f"{self.name if '.' in self.name else f'tl.{self.name}'}({arguments})"

    def kernel(self) -> str:
        """A kernel of nothing else."""
        call = self.call()
        used = [n for n in NAMES if f" {n}" in call.replace("(", " ").replace(",", " ")]
        domain = DOMAINS.get(self.id, "uniform(0.2, 0.9)")
        buffers = ", ".join(f"{n}_ptr=f32[n] in {domain}" for n in used)
        loads = "".join(
            f"    {n} = tl.load({n}_ptr + i, mask=i < n, other=0.5).to(tl.float32)\n" for n in used
        )
        return (
            f"\n\n# tad: n=40, {buffers}, out_ptr=f32[n], BLOCK=64, grid=(1,)\n@triton.jit\n"
            f"def {self.id}_kernel({', '.join(f'{n}_ptr' for n in used)}, out_ptr, n, BLOCK: tl.constexpr):\n"
            f"    i = tl.arange(0, BLOCK)\n{loads}    tl.store(out_ptr + i, {call}, mask=i < n)\n"
        )


@functools.cache
def rows() -> dict[str, Row]:
    """Rows that take tiles only and are differentiated by a line of Triton."""
    found = {}
    for line in tad("--dump", "ops").stdout.splitlines():
        cells = line.split("\t")
        identity, kind, name, shape, gradient = (cells[i] for i in (0, 1, 2, 7, 10))
        texts = [p.strip() for p in cells[6].split(",") if p.strip()]
        elementwise = kind == "ordinary" and shape in ("same", "broadcast") and name
        if not elementwise or gradient in ("", "none", "special", "unsupported"):
            continue
        required = [p for p in texts if "=" not in p and "*" not in p]
        if all(n in {"x", "y", "z", "input", "other"} or n.startswith("arg") for n in required):
            found[identity.lower()] = Row(identity.lower(), name, required)
    return found


@functools.cache
def reports(folder: Path) -> dict[str, dict]:
    """The proof of each kernel of one file with all of them."""
    header = (
        "import triton\nimport triton.language as tl\nfrom triton.language.extra import libdevice\n"
    )
    path = folder / "rows.py"
    path.write_text(header + "".join(row.kernel() for row in rows().values()))
    run = tad("--check", "--grad", "--format", "json", "--quiet", path)
    assert run.returncode in (0, 1), run.stderr
    report = json.loads(run.stdout)
    assert report["problems"] == []
    return {kernel["name"]: kernel for kernel in report["kernels"]}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the file of kernels is written."""
    return tmp_path_factory.mktemp("rows")


def test_there_are_many() -> None:
    """The table's columns are read right."""
    assert len(rows()) >= 90
    assert {"exp", "fma", "acosh", "norm3d", "bessel_j0"} <= set(rows())


@pytest.mark.parametrize("row", rows())
def test_row(row: str, folder: Path) -> None:
    """The emitted backward of the row's kernel agrees with the differences of its forward."""
    report = reports(folder)[f"{row}_kernel"]
    if row in NOT_EXECUTED:
        assert report["status"] == "derived"
        assert "cannot be executed here" in report["reason"]
        return
    assert (report["status"], report["reason"]) == ("proved", "")
    assert report["worst_error"] < 1e-5
