"""The derived backward of every kernel here and in examples/, compiled by Triton for each float type."""

from __future__ import annotations

import pytest

from tests.emitted.compiling import compiles
from tests.emitted.configuration import (
    PROVABLE,
    REMOVED_FROM_TRITON,
    proof_of,
    specification_of,
)
from tests.emitted.plan import Runner
from tests.emitted.signature import float_buffers, signature
from tests.triton.compile import compile_kernel


@pytest.mark.sampled(0.2)
@pytest.mark.parametrize("key", [key for key in PROVABLE if key not in REMOVED_FROM_TRITON])
def test_compiles(key: str, runner: Runner) -> None:
    """Wherever the forward compiles, its backward does: to a cubin, for pointers to each float type."""
    buffers = float_buffers(specification_of(runner, key))
    compiled = [
        floats
        for floats, until in (("fp32", "cubin"), ("bf16", "cubin"), ("fp16", "ttir"))
        if compiles(key, runner, dict.fromkeys(buffers, floats), until)
    ]
    assert "fp32" in compiled


def test_values_that_swap_are_carried(runner: Runner) -> None:
    """Triton takes a name for unchanged that one walk of the body leaves with what another name began with, too."""
    key = "names:while_with_two"
    proof, values = proof_of(key), specification_of(runner, key)
    (launch,) = proof["backward"]["launches"]
    emitted = proof["backward"]["source"]
    kinds = dict.fromkeys(float_buffers(values), "fp32")
    types, constants = signature(emitted, launch["kernel"], launch["arguments"], values, kinds)
    compiled = compile_kernel(emitted, launch["kernel"], types, constants, until="ttir")
    reversed_loop = compiled.raw_ttir[compiled.raw_ttir.index("scf.for") :].splitlines()[0]
    assert reversed_loop.count("tensor<16xf32>") >= 2, reversed_loop
