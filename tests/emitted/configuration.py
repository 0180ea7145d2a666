"""What each kernel of tests/emitted/kernels and examples/ is run with.

In: `file:kernel`.  Out: the request for its proof, tad-runner's answer, and the smallest configuration that bites.
"""

from __future__ import annotations

import functools
import math

from tests.emitted import specification
from tests.emitted.plan import FILES, Runner, derived, kernels
from tests.emitted.specification import Specification

# Where the launcher's sizes will not do: a descriptor's rows start at multiples of 16 bytes, tensors of unknown
# shape overlap.
CONFIGURATIONS = {
    "attention:attention_kernel": "# tad: B=2, H=2, T=23, S=37, Q=f32[B, H, T, 16], K=f32[B, H, S, 16], "
    "V=f32[B, H, S, 16], Out=f32[B, H, T, 16], Lse=f32[B, H, T], scale=0.25, stride_qb=736, stride_qh=368, "
    "stride_qm=16, stride_kb=1184, stride_kh=592, stride_kn=16, stride_vb=1184, stride_vh=592, stride_vn=16, "
    "stride_ob=736, stride_oh=368, stride_om=16, n_heads=2, seq_q=23, seq_k=37, CAUSAL=False, HEAD_DIM=16, "
    "BLOCK_M=16, BLOCK_N=16, grid=(2, 4)",
    "last_blocks:counted_below_zero": "# tad: rows=21, n=39, x_ptr=f32[rows, n], sum_ptr=f32[rows], stride=39, "
    "step=1, ROWS=8, BLOCK=16, grid=(3,)",
    "matmul:batched_matmul_kernel": "# tad: B=2, M=21, N=35, K=41, a_ptr=f32[B, M, K], b_ptr=f32[B, K, N], "
    "c_ptr=f32[B, M, N], stride_ab=861, stride_am=41, stride_ak=1, stride_bb=1435, stride_bk=35, stride_bn=1, "
    "stride_cb=735, stride_cm=35, stride_cn=1, BLOCK_M=16, BLOCK_N=16, BLOCK_K=16, grid=(2, 3, 2)",
    "matmul:matmul_descriptor_kernel": "# tad: M=24, N=20, K=40, a_ptr=f32[M, K], b_ptr=f32[K, N], "
    "c_ptr=f32[M, N], BLOCK_M=16, BLOCK_N=16, BLOCK_K=16, grid=(2, 2)",
    "own_slices:parts_of_rows": "# tad: B=2, T=5, K=4, V=10, q=f32[B, T, K], v=f32[B, T, V], y=f32[2, B, T, V], "
    "ends=i32[3], BK=2, BV=8, REVERSE=True, IS_VARLEN=False, grid=(2, 2, 2)",
    "state_space:selective_scan_kernel": "# tad: B=2, T=5, C=10, N=4, x_ptr=f32[B, T, C], dt_ptr=f32[B, T, C], "
    "A_ptr=f32[C, N], B_ptr=f32[B, T, N], C_ptr=f32[B, T, N], D_ptr=f32[C], y_ptr=f32[B, T, C], N_CHANNELS=10, "
    "N_STATE=4, BLOCK_D=8, grid=(2, 2)",
}
SECONDS = 20
KEYS = kernels(tuple(FILES))
# Kernels without a proof: the status and a part of the reason.
UNPROVED = {
    "overwritten:as_many_as_memory_says": ("refused", "overwrites later"),
    "reductions:scanned_by_another": ("refused", "combine function"),
    "reductions:reduced_by_another": ("refused", "combine function"),
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
PROVABLE = [key for key in KEYS if key not in UNPROVED]


def proof_of(key: str) -> dict:
    """The request for the proof of a kernel."""
    path, name = KEYS[key]
    assert name in derived(path)[1], derived(path)[0][name]["reason"]
    return derived(path)[1][name]


@functools.cache
def proved(runner: Runner, key: str) -> dict:
    """tad-runner's answer for a kernel."""
    return runner.ask("gradcheck", {**proof_of(key), "max_seconds": SECONDS})


def specification_of(runner: Runner, key: str) -> Specification:
    """What to run a kernel with: its own line, else the smallest that tad-runner found."""
    proof = proof_of(key)
    own = CONFIGURATIONS.get(key) or proof["spec"]["text"]
    if own:
        parsed = specification.parse(own)
        # Memory for what the forward saves: a line written by hand does not name it.
        for name in proof.get("saved", ()):
            parsed.values.setdefault(name, specification.Buffer("f32", None, None, ""))
        return parsed
    found = proved(runner, key)["configurations"]
    # Those made up from the kernel alone have strides far apart: too much memory for arrays.
    near = [c for c in found if c["source"] == "launcher"]
    assert near, f"no launcher of {key} was understood: give it a line in CONFIGURATIONS"
    return min((specification.parse(c["text"]) for c in near), key=lambda s: math.prod(s.grid))
