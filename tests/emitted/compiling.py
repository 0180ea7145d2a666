"""A kernel and its derived backward through Triton's compiler."""

from __future__ import annotations

from tests.emitted.configuration import proof_of, specification_of
from tests.emitted.plan import Runner
from tests.emitted.signature import signature
from tests.triton.compile import CompileFailure, compile_kernel


def compiles(key: str, runner: Runner, kinds: dict[str, str], until: str) -> bool:
    """Whether the forward compiles with these types of its float buffers; then all its backward kernels do, `until`."""
    proof, values = proof_of(key), specification_of(runner, key)
    forward = {name: {"same": name} for name in values.values}
    types, constants = signature(proof["source"], proof["kernel"], forward, values, kinds)
    try:
        compile_kernel(proof["source"], proof["kernel"], types, constants, until="ttir")
    except CompileFailure:
        return False
    emitted = proof["backward"]["source"]
    for launch in proof["backward"]["launches"]:
        types, constants = signature(emitted, launch["kernel"], launch["arguments"], values, kinds)
        result = compile_kernel(emitted, launch["kernel"], types, constants, until=until)
        assert until == "ttir" or result.cubin_size > 0
    return True
