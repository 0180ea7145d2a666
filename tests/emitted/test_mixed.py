"""Backwards of kernels in which element types meet, compiled by Triton for pointers to different floats."""

from __future__ import annotations

import random

import pytest

from tests.emitted.configuration import KEYS, proof_of, specification_of
from tests.emitted.plan import Runner
from tests.emitted.signature import float_buffers, signature
from tests.emitted.specification import Specification
from tests.triton.compile import CompileFailure, compile_kernel

MIXED = [key for key in KEYS if key.startswith("mixed:")]
FLOATS = ("fp32", "fp16", "bf16", "fp8e5")
DRAWN = 4


def assignments(key: str, values: Specification) -> list[dict[str, str]]:
    """Element types of the float buffers: each kind alone, and some of those where they differ, always the same."""
    floats = float_buffers(values)
    draw = random.Random(key)
    mixed = [{name: draw.choice(FLOATS) for name in floats} for _ in range(DRAWN)]
    return [dict.fromkeys(floats, kind) for kind in FLOATS[:3]] + mixed


@pytest.mark.parametrize("key", MIXED)
def test_compiles_with_mixed_types(key: str, runner: Runner) -> None:
    """Wherever the forward compiles, its backward does."""
    proof, values = proof_of(key), specification_of(runner, key)
    forward = {name: {"same": name} for name in values.values}
    compiled = 0
    for kinds in assignments(key, values):
        types, constants = signature(proof["source"], proof["kernel"], forward, values, kinds)
        try:
            compile_kernel(proof["source"], proof["kernel"], types, constants, until="ttir")
        except CompileFailure:
            continue
        for launch in proof["backward"]["launches"]:
            emitted, arguments = proof["backward"]["source"], launch["arguments"]
            types, constants = signature(emitted, launch["kernel"], arguments, values, kinds)
            compile_kernel(emitted, launch["kernel"], types, constants, until="ttir")
        compiled += 1
    assert compiled >= 3
