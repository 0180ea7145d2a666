"""Loops that sum tiles: the tiles are added up, and their sum is taken once behind the loop."""

from __future__ import annotations

from pathlib import Path

from tests.emitted.plan import ROOT, tad

STYLE = ROOT / "bench/gpu/style"
HEAD = "import torch\nimport triton\nimport triton.language as tl\n\n\n"
# A gradient of a row's scale, where the row is walked in blocks.
SCALED = """@triton.jit
def kernel(x_ptr, s_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    s = tl.load(s_ptr + row)
    for start in range(0, n, BLOCK):
        c = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * n + c, mask=c < n, other=0.0)
        tl.store(y_ptr + row * n + c, x * s, mask=c < n)


def launched(x, s):
    y = torch.empty_like(x)
    kernel[(x.shape[0],)](x, s, y, x.shape[1], BLOCK=64)
    return y
"""


def backward_of(tmp_path: Path) -> str:
    path = tmp_path / "kernels.py"
    path.write_text(HEAD + SCALED)
    run = tad("--backward", path)
    assert "gradients proved" in run.stderr
    return run.stdout[run.stdout.index("def kernel_backward") : run.stdout.index("class ")]


def loops_and_rest(text: str) -> tuple[str, str]:
    """The lines within the first loop, and those behind it."""
    lines = text[text.index("for start") :].splitlines()
    indent = len(lines[1]) - len(lines[1].lstrip())
    end = next(
        i for i, line in enumerate(lines[1:], 1) if line and not line.startswith(" " * indent)
    )
    return "\n".join(lines[1:end]), "\n".join(lines[end:])


def test_a_sum_is_taken_behind_its_loop(tmp_path: Path) -> None:
    loop, rest = loops_and_rest(backward_of(tmp_path))
    assert "tl.sum" not in loop and rest.count("tl.sum") == 1
    assert "ds += (dy * x).to(tl.float32)" in loop


def test_a_norm_sums_four_numbers_behind_its_loop() -> None:
    run = tad("--backward", f"{STYLE}/unseen.py:instance_norm_kernel")
    assert "gradients proved" in run.stderr
    text = run.stdout
    text = text[text.index("def instance_norm_kernel_backward(") :]
    text = text[: text.index("@triton.jit")]  # another kernel is for rows that a block holds
    for name in ("db += dy\n", "dmean -= dx\n", "drstd += dy_scaled * difference\n"):
        assert name in text
    assert text.count("tl.sum(") == 4 and " += tl.sum(dy" not in text


def test_the_planes_of_a_channel_are_added_up_lane_by_lane() -> None:
    """Loops within loops: what the inner ones carry goes on from plane to plane."""
    run = tad("--backward", f"{STYLE}/reductions.py:batch_norm_kernel")
    assert "gradients proved" in run.stderr
    for kernel in ("batch_norm_kernel_backward(", "batch_norm_kernel_backward_whole_rows("):
        text = run.stdout[run.stdout.index(f"def {kernel}") :].split("\n\n\n")[0]
        loops, behind = text.split("if db_ptr is not None:\n        db_1 = tl.sum(db)")
        assert "tl.sum(" not in loops and "tl.sum(dmean)" in behind
        assert loops.count("= tl.zeros([BLOCK], dtype=tl.float32)") == 5
