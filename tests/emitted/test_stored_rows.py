"""What one loop stored and a later one loads is computed again: a norm behind an addition is one as any other."""

from __future__ import annotations

import json
import re

import pytest

from tests.emitted.plan import ROOT, tad

FILE = ROOT / "tests/emitted/kernels/stored_rows.py"
# Kernels, and whether the second loop's load is gone.
READ_AGAIN = {
    "added_norm": True,
    "rows_in_turn": True,
    "read_elsewhere": False,
    "stored_between": False,
    "stored_sums": False,
    "wider_mask": False,
    "blocks_that_overlap": False,
}


def backward(kernel: str) -> str:
    """The text of the kernel's backward."""
    text = tad("--backward", "--no-proof", f"{FILE}:{kernel}").stdout
    return text[text.index(f"def {kernel}_backward(") :].split("\nclass ")[0]


@pytest.mark.parametrize(("kernel", "is_gone"), READ_AGAIN.items())
def test_only_what_must_be_there_is_computed_again(kernel: str, is_gone: bool) -> None:
    """Its gradient is then no longer added up in memory, either."""
    text = backward(kernel)
    adds_in_memory = re.search(r"tl\.(store|atomic_add)\(ds_ptr", text) is not None
    assert adds_in_memory != is_gone, text
    if is_gone:
        assert "debug_barrier" not in text
        assert ("tl.load(s_ptr" in text) != ("tl.load(x_ptr" in text)  # the sum, or its terms


def test_all_are_proved() -> None:
    report = json.loads(tad("--check", "--grad", "--format", "json", FILE).stdout)
    assert {kernel["name"]: kernel["status"] for kernel in report["kernels"]} == dict.fromkeys(
        READ_AGAIN, "proved"
    )


def test_a_norm_behind_an_addition_has_a_kernel_for_whole_rows() -> None:
    assert "def added_norm_backward_whole_rows(" in backward("added_norm")
