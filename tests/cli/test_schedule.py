"""`--dump schedule`: who sums each gradient of a backward, why programs meet where they do, and what it costs."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.cli.conftest import BIN, ROOT, schedule


def part(text: str, gradient: str) -> str:
    """The lines of one gradient."""
    behind = text.split(f"\n  {gradient}, the gradient of ")[1]
    lines = behind.splitlines()
    return "\n".join([lines[0], *(line for line in lines[1:7] if line.startswith("    "))])


def test_programs_own_rows() -> None:
    text = schedule("examples/softmax.py:softmax_kernel")
    assert text.startswith("softmax_kernel, line 9: a backward of 1 kernel, without atomics\n")
    assert "reads 4*BLOCK*TOGETHER bytes, writes 2*BLOCK*TOGETHER bytes" in text
    assert "memory-bound" in text
    assert "owner: a program along grid axis 0; each element is stored plainly" in text
    assert "[ ]  [ ]  [ ]" in text
    assert "online_softmax_kernel" not in text


def test_iterations_own_what_the_forwards_programs_share() -> None:
    text = schedule("examples/attention.py")
    assert "a backward of 2 kernels, without atomics" in text
    assert "owner: a program along grid axes 0 and 1" in part(text, "dQ")
    keys = part(text, "dK")
    assert "owner: an iteration over `range(program * BLOCK_N, end, programs * BLOCK_N)`" in keys
    assert "why: the forward's programs along grid axis 0 read the same elements of `K`" in keys
    assert "iterations" in keys


def test_terms_of_a_sum_have_one_buffer() -> None:
    text = schedule("bench/gpu/style/norms.py:add_rms_norm_kernel")
    assert "the same as dX: one buffer, stored once" in part(text, "dR")
    assert "the same as" not in part(text, "dX")


def test_the_upstream_gradient_is_handed_on() -> None:
    text = schedule("bench/gpu/style/positions.py:add_position_kernel")
    assert "the same as dy_ptr: handed on" in part(text, "dx_ptr")


@pytest.mark.parametrize(
    ("operand", "gradient", "why", "collisions"),
    [
        (
            "examples/embedding.py",
            "dtable_ptr",
            "the address of `table_ptr` depends on loaded data",
            "how many additions meet in one element is decided where the kernel runs",
        ),
    ],
)
def test_atomics_have_a_reason(operand: str, gradient: str, why: str, collisions: str) -> None:
    text = part(schedule(operand), gradient)
    assert f"atomics: {why}" in text
    assert f"collisions: {collisions}" in text
    assert "[ + + + + ]" in text


def test_weights_are_summed_in_parts() -> None:
    text = schedule("examples/layer_norm.py:layer_norm_row_kernel")
    assert "a backward of 1 kernel, without atomics" in text
    weight = part(text, "dweight_ptr")
    assert "each of at most `most_slices` programs stores a sum of its own" in weight
    assert "why: the forward's programs along grid axis 0 read the same elements" in weight


def test_a_card_has_peaks() -> None:
    plain = schedule("examples/softmax.py:softmax_kernel")
    assert "of the bandwidth" not in plain
    card = schedule("examples/softmax.py:softmax_kernel", "--card", "h200")
    assert "at most 100 % of the bandwidth and 5 % of the arithmetic of h200" in card
    run = subprocess.run(
        [str(BIN / "tad-lsp"), "--dump", "schedule", "examples/softmax.py", "--card", "abacus"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        cwd=ROOT,
    )
    assert run.returncode == 2
    assert "there is no `abacus`" in run.stderr


def test_kernels_in_one_configuration_are_told_in_each() -> None:
    """Those that share out the work are launched as the first was tuned; a long count of iterations stands once."""
    text = schedule("examples/matmul.py:linear_kernel", "--card", "h100")
    told = [line.strip() for line in text.splitlines() if "a program reads" in line]
    names = [line.partition(":")[0] for line in told]
    assert names == [f"configuration {number}" for number in (1, 2, 3)] * 3
    assert all(line.count("cdiv(") == 1 and ", with turns = cdiv(" in line for line in told)
    # caches serve what several programs read, so that nothing is the most that can be had
    assert "of the arithmetic of h100" not in text


def test_what_has_no_backward_says_so(tmp_path: Path) -> None:
    path = tmp_path / "count.py"
    path.write_text(
        "import torch\nimport triton\nimport triton.language as tl\n\n\n"
        "@triton.jit\ndef count(x, y, n, B: tl.constexpr):\n"
        "    i = tl.program_id(0) * B + tl.arange(0, B)\n"
        "    tl.store(y + i, tl.load(x + i, mask=i < n).to(tl.int32), mask=i < n)\n\n\n"
        "def run(x):\n    y = torch.empty(x.shape, dtype=torch.int32)\n"
        "    count[(triton.cdiv(x.numel(), 64),)](x, y, x.numel(), B=64)\n    return y\n"
    )
    assert schedule(path).startswith("count, line 7: no backward: ")


def test_each_kernel_of_the_examples_has_one() -> None:
    text = schedule(*sorted(Path(ROOT / "examples").glob("*.py")))
    assert "this kernel stores nothing to it" not in text
    assert "was not understood again" not in text
