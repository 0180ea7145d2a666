"""The derived backward of every kernel here and in examples/, compiled by Triton for each float type."""

from __future__ import annotations

import pytest

from tests.emitted.configuration import (
    PROVABLE,
    REMOVED_FROM_TRITON,
    proof_of,
    specification_of,
)
from tests.emitted.plan import Runner
from tests.emitted.signature import float_buffers, signature
from tests.triton.compile import CompileFailure, compile_kernel


@pytest.mark.parametrize("key", [key for key in PROVABLE if key not in REMOVED_FROM_TRITON])
def test_compiles(key: str, runner: Runner) -> None:
    """Wherever the forward compiles, its backward does: to a cubin, for pointers to each float type."""
    proof, values = proof_of(key), specification_of(runner, key)
    emitted = proof["backward"]["source"]
    forward = {name: {"same": name} for name in values.values}
    compiled = []
    for floats in ("fp32", "bf16", "fp16"):
        kinds = dict.fromkeys(float_buffers(values), floats)
        types, constants = signature(proof["source"], proof["kernel"], forward, values, kinds)
        try:
            compile_kernel(proof["source"], proof["kernel"], types, constants, until="ttir")
        except CompileFailure:
            continue
        for launch in proof["backward"]["launches"]:
            types, constants = signature(
                emitted, launch["kernel"], launch["arguments"], values, kinds
            )
            until = "ttir" if floats == "fp16" else "cubin"
            result = compile_kernel(emitted, launch["kernel"], types, constants, until=until)
            assert until == "ttir" or result.cubin_size > 0
        compiled.append(floats)
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
