"""An index that a forward stored is loaded; the row in which it was found is not read again."""

from __future__ import annotations

import re
from pathlib import Path

from tests.emitted.plan import tad

ROW_MAX = """
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, v_ptr, i_ptr, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * N + cols, mask=cols < N, other=-float("inf"))
    v, i = tl.max(x, axis=0, return_indices=True)
    tl.store(v_ptr + row, v)
    tl.store(i_ptr + row, i)


def row_max(x):
    M, N = x.shape
    v = torch.empty(M, dtype=x.dtype)
    i = torch.empty(M, dtype=torch.int32)
    kernel[(M,)](x, v, i, N, BLOCK=triton.next_power_of_2(N))
    return v, i
"""


def reads_row(tmp_path: Path, *changes: tuple[str, str], is_proved: bool = True) -> bool:
    text = ROW_MAX
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path = tmp_path / "rows.py"
    path.write_text(text)
    done = tad("--backward", path) if is_proved else tad("--backward", "--no-proof", path)
    assert not is_proved or "gradients proved" in done.stderr, done.stderr
    backward = done.stdout.split("def kernel_backward(")[1].split("\nclass ")[0]
    return re.search(r"\bx_ptr \+", backward) is not None


def test_the_index_is_loaded(tmp_path: Path) -> None:
    assert not reads_row(tmp_path)
    assert not reads_row(tmp_path, ("torch.int32", "torch.int64"))
    assert not reads_row(
        tmp_path,
        ("i_ptr + row, i)", "i_ptr + row, i.to(tl.int64))"),
        ("torch.int32", "torch.int64"),
    )


def test_an_index_that_the_tensor_may_not_hold_is_found_again(tmp_path: Path) -> None:
    assert reads_row(tmp_path, ("torch.int32", "torch.uint8"))
    assert reads_row(tmp_path, ("torch.int32", "torch.float32"))
    assert reads_row(tmp_path, ("i_ptr + row, i)", "i_ptr + row, i.to(tl.int8))"))
    assert reads_row(tmp_path, ("i_ptr + row, i)", "i_ptr + row, i + 1)"))


def test_an_index_that_other_rows_may_store_is_found_again(tmp_path: Path) -> None:
    """Of programs that store to one element, one index is left; a hop that a caller says may be 0."""
    slots = ("i_ptr + row, i)", "i_ptr + row % 4, i)")
    assert reads_row(tmp_path, slots, is_proved=False)  # a race of that launch
    both = ("i_ptr + row, i)", "i_ptr + row + tl.program_id(1), i)")
    part = ("x_ptr + row * N", "x_ptr + (row + tl.program_id(1) * 9) * N")
    assert reads_row(tmp_path, both, part, ("(M,)", "(9, M // 9)"), is_proved=False)
    hops = [("i_ptr + row, i)", "i_ptr + row * hop, i)"), ("i_ptr, N,", "i_ptr, hop, N,")]
    assert reads_row(tmp_path, *hops, ("(x):", "(x, hop):"), ("v, i, N", "v, i, hop, N"))
    assert not reads_row(tmp_path, *hops, ("v, i, N", "v, i, i.stride(0), N"))


def test_an_index_that_the_launcher_changes_is_found_again(tmp_path: Path) -> None:
    """What autograd saved would be another tensor by then."""
    assert reads_row(tmp_path, ("    return v, i", "    i += 1\n    return v, i"))
    launch = "    kernel[(M,)](x, v, i, N, BLOCK=triton.next_power_of_2(N))\n"
    assert reads_row(tmp_path, (launch, f"    for _ in range(2):\n    {launch}"))
