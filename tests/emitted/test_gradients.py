"""The derived backward of every kernel here and in examples/: proved, run by Triton, compiled by Triton.

What no backward exists for, and what the interpreter lacks, stands in tables that must match exactly.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.emitted.configuration import (
    KEYS,
    proof_of,
    proved,
    specification_of,
)
from tests.emitted.launch import Problem
from tests.emitted.plan import Runner, derived
from tests.emitted.specification import Buffer, Specification
from tests.support.worker import Worker
from tests.triton.compile import CompileFailure, compile_kernel

# Kernels without a proof: the status and a part of the reason.
UNPROVED = {
    "in_place:memory_as_state": ("refused", "overwrites later"),
    "in_place:turns_come_back": ("refused", "overwrites later"),
    "reductions:scanned_by_another": ("refused", "combine function"),
    "reductions:reduced_by_another": ("refused", "combine function"),
    "reductions:second_of_another_pair": ("refused", "combine function"),
    "stores:broadcast_rows": ("refused", "they have the same address"),
    "stores:diagonals": ("refused", "its rows may reach into each other"),
    "stores:limited": ("refused", "lanes past the end repeat elements"),
    "stores:replaced_by_an_atomic": ("refused", "`atomic_max` may replace"),
    "stores:place_from_a_counter": ("refused", "what an atomic gave"),
    "stores:limited_by_where": ("refused", "lanes past the end repeat elements"),
    "shapes:concatenated": ("refused", "leaves the order of elements open"),
}
# Triton 3.9 has no block pointers any more: these run in tad-runner only.
REMOVED_FROM_TRITON = {
    "attention_block_pointer:attention_block_kernel",
    "block_pointers:block_row_sums",
    "block_pointers:optional_block",
    "matmul_block_pointer:matmul_block_kernel",
}
# Functions that Triton has for float32 alone.
SINGLE_ONLY = {"elementwise:device_functions", "elementwise:mathematics"}
# How many kernels of the tables above, beside the two of this folder's and examples' own, there are at least.
LEAST_KERNELS = 100
DTYPES = {"f32": "fp32", "f64": "fp64", "f16": "fp16", "bf16": "bf16", "i1": "i1"}
# Of scratch, where it has one: else it is as wide as the widest float of the launch, and float32 at least.
TORCH_TYPES = {"float32": "fp32", "float64": "fp64", "int64": "i64"}
PROVABLE = [key for key in KEYS if key not in UNPROVED]


def test_there_is_enough() -> None:
    """The tables name kernels that exist."""
    assert len(KEYS) >= LEAST_KERNELS
    assert set(UNPROVED) | REMOVED_FROM_TRITON | SINGLE_ONLY <= set(KEYS)


@pytest.mark.parametrize("key", UNPROVED)
def test_refused_with_its_reason(key: str) -> None:
    """Exactly these have no backward, and say why."""
    path, name = KEYS[key]
    entry = derived(path)[0][name]
    status, reason = UNPROVED[key]
    assert entry["status"] == status
    assert reason in entry["reason"]


@pytest.mark.parametrize("key", PROVABLE)
def test_gradient(key: str, runner: Runner, interpreter: Worker) -> None:
    """Proved by tad-runner; Triton computes the same from the emitted text; differences agree with both."""
    answer = proved(runner, key)
    assert (answer["status"], answer["reason"]) == ("proved", "")
    assert answer["findings"] == []
    assert answer["worst_error"] < 1e-6
    assert any(entry["directions"] for entry in answer["inputs"])
    if key in REMOVED_FROM_TRITON:
        return
    doubles = key not in SINGLE_ONLY
    problem = Problem(proof_of(key), specification_of(runner, key), 1, interpreter, doubles)
    gradients, own = problem.backward(), problem.own_backward(runner.ask)
    assert gradients
    for name, gradient in gradients.items():
        # Random numbers are float32 in Triton, and whatever these are multiplied with.
        scale = float(np.abs(own[name]).max()) or 1.0
        assert np.isfinite(gradient).all(), name
        np.testing.assert_allclose(gradient, own[name], rtol=2e-5, atol=2e-6 * scale, err_msg=name)
    if doubles:
        expected, size = problem.difference()
        along = sum(float((gradients[n] * problem.directions[n]).sum()) for n in problem.directions)
        assert size > 0
        assert along == pytest.approx(expected, abs=2e-6 * size)


def types_of(
    arguments: dict[str, dict], values: Specification, floats: str
) -> tuple[dict[str, str], dict[str, object]]:
    """Triton's types of run-time arguments, and the constants."""
    types: dict[str, str] = {}
    constants: dict[str, object] = {}
    for name, use in arguments.items():
        value = values.values.get(next(iter(use.values())))
        if "scratch" in use:
            types[name] = "*" + TORCH_TYPES[use.get("dtype", "float32")]
        elif "steps" in use:
            types[name] = "i32"
        elif isinstance(value, Buffer):
            own = value.type if value.is_integer else floats
            types[name] = "*" + (
                use.get("dtype", floats) if {"gradient", "running", "kept"} & use.keys() else own
            )
        else:
            constants[name] = value
    return types, constants


def signature(
    text: str, kernel: str, arguments: dict[str, dict], values: Specification, floats: str
) -> tuple[dict[str, str], dict[str, object]]:
    """Types and constexprs to compile a kernel of a text with."""
    types, constants = types_of(arguments, values, floats)
    head = text[text.index(f"def {kernel}(") :]
    head = head[: head.index("):\n")]
    for name in list(constants):
        value = constants[name]
        is_constexpr = f"{name}: tl.constexpr" in head or f"{name}: 'tl.constexpr'" in head
        if value is None or is_constexpr:
            continue
        types[name] = "fp32" if isinstance(value, float) else "i32"
        del constants[name]
    return types, constants


@pytest.mark.parametrize("key", [key for key in PROVABLE if key not in REMOVED_FROM_TRITON])
def test_compiles(key: str, runner: Runner) -> None:
    """Wherever the forward compiles, its backward does: to a cubin, for pointers to each float type."""
    proof, values = proof_of(key), specification_of(runner, key)
    emitted = proof["backward"]["source"]
    forward = {name: {"same": name} for name in values.values}
    compiled = []
    for floats in ("fp32", "bf16", "fp16"):
        types, constants = signature(proof["source"], proof["kernel"], forward, values, floats)
        try:
            compile_kernel(proof["source"], proof["kernel"], types, constants, until="ttir")
        except CompileFailure:
            continue
        for launch in proof["backward"]["launches"]:
            types, constants = signature(
                emitted, launch["kernel"], launch["arguments"], values, floats
            )
            until = "ttir" if floats == "fp16" else "cubin"
            result = compile_kernel(emitted, launch["kernel"], types, constants, until=until)
            assert until == "ttir" or result.cubin_size > 0
        compiled.append(floats)
    assert "fp32" in compiled


def test_nothing_depends_on_the_file() -> None:
    """A path that does not exist derives nothing."""
    with pytest.raises(AssertionError):
        derived(Path("no-such-file.py"))


def test_values_that_swap_are_carried(runner: Runner) -> None:
    """Triton takes a name for unchanged that one walk of the body leaves with what another name began with, too."""
    key = "names:while_with_two"
    proof, values = proof_of(key), specification_of(runner, key)
    (launch,) = proof["backward"]["launches"]
    emitted = proof["backward"]["source"]
    types, constants = signature(emitted, launch["kernel"], launch["arguments"], values, "fp32")
    compiled = compile_kernel(emitted, launch["kernel"], types, constants, until="ttir")
    reversed_loop = compiled.raw_ttir[compiled.raw_ttir.index("scf.for") :].splitlines()[0]
    assert reversed_loop.count("tensor<16xf32>") >= 2, reversed_loop
