"""Other people's kernels: the emitted backward gives in Triton's own interpreter what it gives in tad-runner.

Sizes and strides are those that tad-runner reads off the packages' launchers.  The kernels are some of those that
the interpreter runs: what imports more than a stand-in for torch can be, or is tuned in a way of its own, is not here.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pytest

from tests.emitted import plan, specification
from tests.emitted.launch import Problem
from tests.emitted.plan import Runner
from tests.emitted.specification import Specification
from tests.support.worker import Worker
from tests.triton import interpret
from tests.triton.corpus import CORPUS

KERNELS = {
    "conch/kernels/activation/gelu_tanh_and_mul.py": ["_gelu_tanh_and_mul_kernel"],
    "conch/kernels/activation/silu_and_mul.py": ["_silu_and_mul_kernel"],
    "fla/modules/activations/ops.py": [
        "elu_p1_fwd_kernel",
        "logsigmoid_bwd_kernel",
        "sigmoidglu_fwdbwd_kernel",
        "swiglu_fwd_kernel",
        "swish_bwd_kernel",
    ],
    "fla/modules/token_shift.py": [
        "token_shift_bwd_kernel_long",
        "token_shift_bwd_kernel_short",
        "token_shift_fwd_kernel_long",
        "token_shift_fwd_kernel_short",
    ],
    "fla/ops/utils/cumsum.py": ["chunk_global_cumsum_scalar_kernel"],
    "fla/ops/utils/softmax.py": ["softmax_bwd_kernel"],
    "liger_kernel/ops/kl_div.py": ["_kldiv_kernel_backward"],
    "liger_kernel/ops/layer_norm.py": ["_layer_norm_backward_kernel"],
    "liger_kernel/ops/multi_token_attention.py": ["_mask_bwd_kernel", "_mask_fwd_kernel"],
    "liger_kernel/ops/softmax.py": [
        "_softmax_single_block_backward_kernel",
        "_softmax_single_block_forward_kernel",
    ],
    "liger_kernel/ops/swiglu.py": ["_swiglu_fused_gate_up_forward_kernel"],
    "xformers/ops/_triton/k_index_select_cat.py": ["index_select_cat_fwd_kernel"],
}
CASES = [(file, name) for file, names in KERNELS.items() for name in names]


@pytest.fixture(scope="module")
def runner() -> Iterator[Runner]:
    """A real tad-runner."""
    program = Runner()
    yield program
    program.close()


@pytest.fixture(scope="module")
def interpreter() -> Iterator[Worker]:
    """Triton's interpreter; what the packages import and is missing becomes a shell."""
    with interpret.make_worker(permissive=True) as worker:
        yield worker


def smallest(texts: list[str]) -> Specification:
    """The launch with the least memory."""

    def size(found: Specification) -> int:
        return math.prod(found.grid) * sum(b.extent for b in found.buffers().values())

    return min((specification.parse(text) for text in texts), key=size)


@pytest.mark.parametrize("file, name", CASES, ids=[name for _, name in CASES])
def test_same_gradients(file: str, name: str, runner: Runner, interpreter: Worker) -> None:
    """All gradients, in doubles."""
    proof = plan.derived(CORPUS / file)[1][name]
    answer = runner.ask("gradcheck", {**proof, "max_seconds": 20})
    assert (answer["status"], answer["reason"]) == ("proved", "")
    texts = [c["text"] for c in answer["configurations"] if c["source"] == "launcher"]
    assert texts
    problem = Problem(proof, smallest(texts), 1, interpreter, True)
    gradients, own = problem.backward(), problem.own_backward(runner.ask)
    assert gradients
    for which, gradient in gradients.items():
        scale = float(np.abs(own[which]).max()) or 1.0
        np.testing.assert_allclose(gradient, own[which], atol=1e-12 * scale, rtol=0, err_msg=which)
