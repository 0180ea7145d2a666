"""A descriptor and a pointer of one tensor."""

# case: {"class": "aliases", "call": "m.descriptor_beside_pointer(x)", "inputs": {"x": [8, 4]}}

import torch
import triton
import triton.language as tl

@triton.jit
def k(o, x, x2, M, N, B: tl.constexpr):
    d = tl.make_tensor_descriptor(x, shape=[M, N], strides=[N, 1], block_shape=[B, B])
    pm = tl.program_id(0) * B
    i = pm + tl.arange(0, B)[:, None]; j = tl.arange(0, B)[None, :]
    v = d.load([pm, 0])
    tl.store(x2 + i * N + j, v * v, mask=(i < M) & (j < N))
    tl.debug_barrier()
    u = d.load([pm, 0])
    tl.store(o + i * N + j, u * v, mask=(i < M) & (j < N))
def descriptor_beside_pointer(x):
    M, N = x.shape
    x = x.clone()
    o = torch.empty(M, N, dtype=x.dtype)
    k[(triton.cdiv(M, 4),)](o, x, x, M, N, B=4)
    return o
