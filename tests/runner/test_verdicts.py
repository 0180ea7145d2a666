"""What a run measured as wrong is never settled by what speaks for it: other sizes, duals alone, or an empty loss."""

from __future__ import annotations

import json
from pathlib import Path

from tests.emitted.plan import Runner, derived, tad

HEAD = "import torch\nimport triton\nimport triton.language as tl\n\n\n"
# Frames that overlap, in no launcher: the backward takes the iterations of the loop to be at different places.
FRAMES = """@triton.jit
def frames(o, x, hop, W, F, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    for r in range(F):
        v = tl.load(x + r * W + i, mask=i < W, other=0.0)
        a = tl.load(o + r * hop + i, mask=i < W, other=0.0)
        tl.store(o + r * hop + i, a + v * a + v * v, mask=i < W)
"""
OVERLAPPING = f"""{HEAD}# tad: o=f32[20], x=f32[4, 8], hop=4, W=8, F=4, BLOCK=8, grid=(1,)
{FRAMES}"""
# Statistics of which the heads store one after the other.
COLLIDING = (
    HEAD
    + """@triton.jit
def norm(y, rstd, x, N, H, BLOCK: tl.constexpr):
    r = tl.program_id(0)
    h = tl.program_id(1)
    i = tl.arange(0, BLOCK)
    base = (r * H + h) * N
    v = tl.load(x + base + i, mask=i < N, other=0.0).to(tl.float32)
    s = 1 / tl.sqrt(tl.sum(v * v) / N + 1e-5)
    tl.store(rstd + r, s)  # here
    tl.store(y + base + i, v * s, mask=i < N)


def run(x):
    M, H, N = x.shape
    y = torch.empty_like(x)
    rstd = torch.empty(M, dtype=torch.float32)
    norm[(M, H)](y, rstd, x, N, H, BLOCK=8)
    return y
"""
)
DEAD = (
    HEAD
    + """# tad: X=f32[16], Y=f32[16], B=16, grid=(1,)
@triton.jit
def dead(X, Y, B: tl.constexpr):
    at = tl.arange(0, B)
    x = tl.load(X + at)
    tl.store(Y + at, tl.where(at > 99, x * x, 1.0))
"""
)
STEPS = (
    HEAD
    + """# tad: X=f32[16], Y=f32[16], B=16, grid=(1,)
@triton.jit
def steps(X, Y, B: tl.constexpr):
    at = tl.arange(0, B)
    x = tl.load(X + at)
    tl.store(Y + at, x * x + tl.floor(x * 1e12) * 1e-12)
"""
)


def check(tmp_path: Path, text: str) -> tuple[int, dict]:
    file = tmp_path / "kernel.py"
    file.write_text(text)
    run = tad("--check", "--grad", "-f", "json", file)
    return run.returncode, json.loads(run.stdout)


def test_a_wrong_gradient_is_not_excused_by_other_strides(tmp_path: Path) -> None:
    status, report = check(tmp_path, OVERLAPPING)
    assert status == 1
    assert report["kernels"][0]["status"] == "failed"
    written = tad("--backward", tmp_path / "kernel.py")
    assert written.returncode == 1
    assert written.stdout.startswith("# WARNING: the proof contradicts the gradients of `frames`")


def test_a_race_in_a_launch_is_not_excused_by_other_sizes(tmp_path: Path) -> None:
    status, report = check(tmp_path, COLLIDING)
    assert status == 1
    (kernel,) = report["kernels"]
    assert kernel["status"] == "derived"
    assert "race in a launch of this file: norm, line" in kernel["reason"]
    races = [d for d in report["diagnostics"] if d["name"] == "race"]
    lines = COLLIDING.splitlines()
    assert [lines[d["range"]["start"]["line"]].endswith("# here") for d in races] == [True]
    written = tad("--backward", tmp_path / "kernel.py")
    assert written.returncode == 1
    assert written.stdout.startswith("# WARNING: the gradients of `norm` are not proved")
    backward = written.stdout[written.stdout.index("def norm_backward") :]
    assert "tl.load(rstd" not in backward, "the last head's is no other's"


def test_no_derivative_is_no_proof(tmp_path: Path) -> None:
    _, report = check(tmp_path, DEAD)
    (kernel,) = report["kernels"]
    assert kernel["status"] == "derived"
    assert "every derivative is 0" in kernel["reason"]


def test_duals_alone_prove_nothing(tmp_path: Path) -> None:
    """Steps too fine for any difference: their slope is 0 for duals and for the backward, and 1 in effect."""
    _, report = check(tmp_path, STEPS)
    (kernel,) = report["kernels"]
    assert kernel["status"] != "proved"


def test_a_kink_is_left_behind_by_smaller_steps(tmp_path: Path) -> None:
    text = STEPS.replace("tl.floor(x * 1e12) * 1e-12", "tl.abs(x - 0.5 + tl.floor(x)) * 3")
    _, report = check(tmp_path, text)
    assert report["kernels"][0]["status"] == "proved"


def test_what_is_excused_is_said(tmp_path: Path) -> None:
    """Sizes that are made up may be to blame, which leaves the proof open and is told."""
    file = tmp_path / "kernel.py"
    file.write_text(HEAD + FRAMES)
    proof = derived(file)[1]["frames"]
    source = proof["backward"]["source"]
    wrong = source.replace(" * ", " + ", 40)
    runner = Runner()
    answer = runner.ask("gradcheck", {**proof, "backward": {**proof["backward"], "source": wrong}})
    runner.close()
    assert answer["status"] != "proved"


SHORT = (
    HEAD
    + """@triton.jit
def weigh(X, W, Y, N, K, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    x = tl.load(X + row * N + i, mask=i < N, other=0.0)
    w = tl.load(W + i, mask=i < K, other=0.0)
    tl.store(Y + row * N + i, x * tl.sum(w, 0), mask=i < N)


def run(x, w):
    M, N = x.shape
    K = w.shape[0]
    y = torch.empty(M, N - 1)
    weigh[(M,)](x, w, y, N, K, BLOCK=triton.next_power_of_2(N))
    return y
"""
)


def test_beyond_what_a_launcher_allocates(tmp_path: Path) -> None:
    """Sizes of another tensor excuse nothing of which neither the place nor the allocation knows."""
    status, report = check(tmp_path, SHORT)
    (kernel,) = report["kernels"]
    assert kernel["status"] == "derived"
    assert "out-of-bounds in a launch of this file: weigh, line" in kernel["reason"]
    assert status == 1
    _, right = check(tmp_path, SHORT.replace("N - 1", "N"))
    assert right["kernels"][0]["status"] == "proved"
    chosen = SHORT.replace("(x, w):", "(x, w, K):").replace("    K = w.shape[0]\n", "")
    chosen = chosen.replace("N, K, BLOCK: tl.constexpr", "N, BLOCK: tl.constexpr, K: tl.constexpr")
    chosen = chosen.replace(
        "N, K, BLOCK=triton.next_power_of_2(N)", "N, triton.next_power_of_2(N), K"
    )
    _, of_a_caller = check(tmp_path, chosen)
    assert of_a_caller["kernels"][0]["status"] == "derived"
    _, open_one = check(tmp_path, SHORT.replace("empty(M, N - 1)", "empty(M, K)"))
    assert "in a launch of this file" not in open_one["kernels"][0]["reason"], "N may be K"


HALVES = (
    HEAD
    + """@triton.jit
def halves(y, x, BLOCK: tl.constexpr):
    r = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + r * BLOCK + i)
    tl.store(y + r // 2 * BLOCK + i, v * v)
"""
)


def test_fewer_programs_store_fewer_elements(tmp_path: Path) -> None:
    """Of a made-up grid whose programs collide a part is tried, and the stored elements are counted for that part."""
    _, report = check(tmp_path, HALVES)
    (kernel,) = report["kernels"]
    assert kernel["status"] == "proved", kernel["reason"]
    assert "not had: 3 programs along axis 0" in kernel["covered"]
