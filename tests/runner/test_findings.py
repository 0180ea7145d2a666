"""What a run finds in the forward itself is reported where it happens, and leaves the proof open."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.emitted.plan import Runner, derived, tad

HEAD = "import triton\nimport triton.language as tl\n\n\n"
KERNELS = {
    "undefined-value": f"""{HEAD}# tad: n=11, X=f32[16], Y=f32[16], B=16, grid=(1,)
@triton.jit
def copy(X, Y, n, B: tl.constexpr):
    at = tl.arange(0, B)
    x = tl.load(X + at, mask=at < n)
    tl.store(Y + at, x * 2.0)  # here
""",
    "out-of-bounds": f"""{HEAD}# tad: X=f32[16], Y=f32[11], B=16, grid=(1,)
@triton.jit
def copy(X, Y, B: tl.constexpr):
    at = tl.arange(0, B)
    tl.store(Y + at, tl.load(X + at) * 2.0)  # here
""",
    "race": f"""{HEAD}# tad: X=f32[32], Y=f32[16], B=16, grid=(2,)
@triton.jit
def copy(X, Y, B: tl.constexpr):
    at = tl.arange(0, B)
    tl.store(Y + at, tl.load(X + tl.program_id(0) * B + at) * 2.0)  # here
""",
}


@pytest.mark.parametrize("name", sorted(KERNELS))
def test_a_finding_leaves_the_proof_open(name: str, tmp_path: Path) -> None:
    """Not proved, and the line is named."""
    file = tmp_path / "kernel.py"
    file.write_text(KERNELS[name])
    run = tad("--check", "--grad", "--jobs", 1, "-f", "json", file)
    report = json.loads(run.stdout)
    assert report["kernels"][0]["status"] != "proved"
    found = [entry for entry in report["diagnostics"] if entry["name"] == name]
    assert len(found) == 1
    lines = KERNELS[name].splitlines()
    assert lines[found[0]["range"]["start"]["line"]].endswith("# here")


# What can be said of no gradient, and why. A row that is masked as a whole; a negative factor that makes masked
# scores of -1e30 the largest, whose gradients' sum is what rounding leaves.
LEFT_OPEN = {
    "it writes nan to element 0 of Y": f"""{HEAD}# tad: X=f32[16], V=f32[8], Y=f32[16], B=8, grid=(1,)
@triton.jit
def weigh(X, V, Y, B: tl.constexpr):
    rows = tl.arange(0, 2)[:, None]
    at = tl.arange(0, B)[None, :]
    x = tl.where(rows > 0, tl.load(X + rows * B + at), float("-inf"))
    p = tl.exp(x - tl.max(x, 1)[:, None])
    tl.store(Y + rows * B + at, p * tl.load(V + at))
""",
    "gradient of F is as small as rounding": f"""{HEAD}# tad: X=f32[32], F=f32[4], V=f32[8], Y=f32[4], B=8, grid=(1,)
@triton.jit
def weigh(X, F, V, Y, B: tl.constexpr):
    rows = tl.arange(0, 4)
    at = tl.arange(0, B)[None, :]
    s = tl.load(X + rows[:, None] * B + at) + tl.where(at <= rows[:, None], 0.0, -1e30)
    s = s * tl.load(F + rows)[:, None]
    p = tl.exp(s - tl.max(s, 1)[:, None])
    y = tl.sum(p * tl.load(V + at), 1) / tl.sum(p, 1)
    tl.store(Y + rows, y)
""",
}


@pytest.mark.parametrize("reason", LEFT_OPEN)
def test_what_cannot_be_compared_is_no_wrong_gradient(reason: str, tmp_path: Path) -> None:
    """Not proved, not refuted, and the reason says why."""
    file = tmp_path / "kernel.py"
    file.write_text(LEFT_OPEN[reason])
    run = tad("--check", "--grad", "--jobs", 1, "-f", "json", file)
    kernel = json.loads(run.stdout)["kernels"][0]
    assert kernel["status"] == "derived"
    assert reason in kernel["reason"]


def test_what_is_known_to_be_wrong_stays_wrong(tmp_path: Path) -> None:
    """That nothing can be said of one input, an iteration that forgets its digits, takes nothing back of another."""
    file = tmp_path / "kernel.py"
    file.write_text(
        f"""{HEAD}# tad: X=f32[8], Z=f32[8], Y=f32[8], W=f32[8], B=8, grid=(1,)
@triton.jit
def iterate(X, Z, Y, W, B: tl.constexpr):
    at = tl.arange(0, B)
    x = tl.load(X + at)
    tl.store(Y + at, x * x)
    z = tl.load(Z + at)
    for _ in range(14):
        z = tl.sin(10.0 * z)
    tl.store(W + at, z)
"""
    )
    proof = derived(file)[1]["iterate"]
    lines = proof["backward"]["source"].splitlines()
    stores = [
        i for i, line in enumerate(lines) if line.strip().startswith(("tl.store(dX", "tl.store(dZ"))
    ]
    assert len(stores) == 2
    for i in stores:
        lines[i] = lines[i][:-1] + " * 2.0)"
    runner = Runner()
    broken = {**proof["backward"], "source": "\n".join(lines)}
    answer = runner.ask("gradcheck", {**proof, "backward": broken})
    runner.close()
    assert answer["status"] == "failed"
    assert "the gradient of X is wrong" in answer["reason"]


def test_last_digits_excuse_no_more_than_they_change(tmp_path: Path) -> None:
    """A gradient of 1e-5 that is another each time is wrong where the derivative is 1."""
    file = tmp_path / "kernel.py"
    file.write_text(
        f"""{HEAD}# tad: X=f32[8], Y=f32[8], B=8, grid=(1,)
@triton.jit
def square(X, Y, B: tl.constexpr):
    at = tl.arange(0, B)
    x = tl.load(X + at)
    tl.store(Y + at, x * x)
"""
    )
    proof = derived(file)[1]["square"]
    source = proof["backward"]["source"]
    right = "dx = dy * x * 2.0"
    assert right in source
    wrong = source.replace(right, "dx = dy * tl.sin(1e14 * x) * 1e-5")
    runner = Runner()
    answer = runner.ask("gradcheck", {**proof, "backward": {**proof["backward"], "source": wrong}})
    runner.close()
    assert answer["status"] == "failed", answer["reason"]


SHARED = f"""{HEAD}@triton.jit
def reach(X, Y, Z, n, P: tl.constexpr, Q: tl.constexpr, R: tl.constexpr, HALO: tl.constexpr, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    x = tl.load(X + at, mask=at < n, other=0.0)
    if P:
        x = x * 2.0
    if Q:
        x = x + 3.0
    if R:
        x = x * x
{{body}}
"""
READ = """z = tl.load(Z + at, mask=at < n, other=0.0)
        z += tl.load(Z + at + B, mask=at + B < n, other=0.0) * 3.0"""


@pytest.mark.parametrize(
    "body",
    [
        f"""    tl.store(Y + at, x * x, mask=at < n)
    if HALO:
        {READ}
        tl.store(Y + at, x * x * z, mask=at < n)""",
        f"""    if HALO and not R:
        {READ}
        x *= z
    tl.store(Y + at, x * x, mask=at < n)""",
    ],
    ids=["stored twice", "flags that no other sizes have"],
)
def test_what_fails_with_made_up_sizes_is_not_proved(body: str, tmp_path: Path) -> None:
    """By other flags alone nothing is proved."""
    file = tmp_path / "kernel.py"
    file.write_text(SHARED.format(body=body))
    proof = derived(file)[1]["reach"]
    source = proof["backward"]["source"]
    assert "tl.atomic_add(" in source
    wrong = source.replace("tl.atomic_add(", "tl.store(")
    runner = Runner()
    right = runner.ask("gradcheck", proof)
    answer = runner.ask("gradcheck", {**proof, "backward": {**proof["backward"], "source": wrong}})
    runner.close()
    assert right["status"] == "proved"
    assert answer["status"] in ("unproved", "failed")
    assert "the gradient of Z is wrong" in answer["reason"]


SCALED = f"""{HEAD}@triton.jit
def scaled(X, Y, S, M, N, B: tl.constexpr):
    rows = tl.program_id(0) * B + tl.arange(0, B)
    columns = tl.program_id(1) * B + tl.arange(0, B)
    at = rows[:, None] * N + columns[None, :]
    mask = (rows < M)[:, None] & (columns < N)[None, :]
    x = tl.load(X + at, mask=mask)
    largest = tl.max(tl.abs(x))
    tl.store(Y + at, x / largest, mask=mask)
    tl.store(S + tl.program_id(0) * tl.cdiv(N, B) + tl.program_id(1), largest)
"""
LAUNCHER = """

def scale(x, block=32):
    M, N = x.shape
    blocks = (triton.cdiv(M, block), triton.cdiv(N, block))
    y, s = torch.empty_like(x), torch.empty(blocks, device=x.device)
    scaled[blocks](x, y, s, M, N, B=block)
    return y, s
"""


@pytest.mark.parametrize("launcher", ["", LAUNCHER], ids=["alone", "launched"])
def test_undefined_where_blocks_are_cut(launcher: str, tmp_path: Path) -> None:
    """What a masked-off load without `other` decides is tried with whole blocks, and the report says so."""
    file = tmp_path / "kernel.py"
    file.write_text("import torch\n" + SCALED + launcher)
    proof = derived(file)[1]["scaled"]
    runner = Runner()
    answer = runner.ask("gradcheck", proof)
    wrong = proof["backward"]["source"].replace("dx = ", "dx = 2.0 * ", 1)
    refuted = runner.ask("gradcheck", {**proof, "backward": {**proof["backward"], "source": wrong}})
    runner.close()
    assert answer["status"] == "proved", answer["reason"]
    assert "a last block that is cut" in json.dumps(answer["covered"])
    assert wrong != proof["backward"]["source"]
    assert refuted["status"] == "failed"
