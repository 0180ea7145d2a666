"""Backwards of kernels in which element types meet, compiled by Triton for pointers to different floats."""

from __future__ import annotations

import random

import pytest

from tests.emitted.compiling import compiles
from tests.emitted.configuration import KEYS, proof_of, specification_of
from tests.emitted.plan import Runner
from tests.emitted.signature import float_buffers
from tests.emitted.specification import Specification

MIXED = [key for key in KEYS if key.startswith("mixed:")]
FLOATS = ("fp32", "fp16", "bf16", "fp64", "fp8e5")
DRAWN = 4


def assignments(key: str, values: Specification) -> list[dict[str, str]]:
    """Element types of the float buffers: each kind alone, and some of those where they differ, always the same."""
    floats = float_buffers(values)
    draw = random.Random(key)
    mixed = [{name: draw.choice(FLOATS) for name in floats} for _ in range(DRAWN)]
    return [dict.fromkeys(floats, kind) for kind in FLOATS[:4]] + mixed


@pytest.mark.parametrize("key", MIXED)
def test_compiles_with_mixed_types(key: str, runner: Runner) -> None:
    """Wherever the forward compiles, its backward does."""
    values = specification_of(runner, key)
    compiled = sum(compiles(key, runner, kinds, "ttir") for kinds in assignments(key, values))
    assert compiled >= 3


def test_a_product_keeps_the_types_of_its_operands() -> None:
    """That a tensor alone may be to doubles, where a branch is left out, makes no float32 of halves."""
    emitted = proof_of("mixed:product_in_a_branch")["backward"]["source"]
    backward = emitted[emitted.index("def product_in_a_branch_backward") :]
    assert "tl.dot(a, b)" in backward
