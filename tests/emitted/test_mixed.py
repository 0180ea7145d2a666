"""Backwards of kernels in which element types meet, compiled by Triton for pointers to different floats."""

from __future__ import annotations

import random

import pytest

from tests.emitted.configuration import KEYS, proof_of, specification_of
from tests.emitted.plan import Runner
from tests.emitted.specification import Buffer, Specification
from tests.emitted.test_gradients import TORCH_TYPES
from tests.triton.compile import CompileFailure, compile_kernel

MIXED = [key for key in KEYS if key.startswith("mixed:")]
FLOATS = ("fp32", "fp16", "bf16", "fp8e5")
DRAWN = 4


def assignments(key: str, values: Specification) -> list[dict[str, str]]:
    """Element types of the float buffers: each kind alone, and some of those where they differ, always the same."""
    floats = [n for n, v in values.values.items() if isinstance(v, Buffer) and not v.is_integer]
    draw = random.Random(key)
    mixed = [{name: draw.choice(FLOATS) for name in floats} for _ in range(DRAWN)]
    return [dict.fromkeys(floats, kind) for kind in FLOATS[:3]] + mixed


def signature(
    text: str, kernel: str, arguments: dict[str, dict], values: Specification, kinds: dict[str, str]
) -> tuple[dict[str, str], dict[str, object]]:
    """Types and constexprs to compile a kernel of a text with."""
    head = text[text.index(f"def {kernel}(") :]
    head = head[: head.index("):\n")]
    types: dict[str, str] = {}
    constants: dict[str, object] = {}
    for name, use in arguments.items():
        of = next(iter(use.values()))
        value = values.values.get(of)
        if "scratch" in use:
            types[name] = "*" + TORCH_TYPES[use.get("dtype", "float32")]
        elif "steps" in use:
            types[name] = "i32"
        elif isinstance(value, Buffer):
            own = value.type if value.is_integer else kinds[of]
            is_gradient = "gradient" in use or "running" in use
            types[name] = "*" + (use.get("dtype", own) if is_gradient else own)
        elif value is None or f"{name}: tl.constexpr" in head:
            constants[name] = value
        else:
            types[name] = "fp32" if isinstance(value, float) else "i32"
    return types, constants


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
