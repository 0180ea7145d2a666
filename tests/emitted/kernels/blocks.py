"""Tensor descriptors."""

import triton
import triton.language as tl


# tad: m=20, n=40, x=f32[m, n], out=f32[m, n], M=16, N=32, grid=(2, 2)
@triton.jit
def descriptor_tiles(x, out, m, n, M: tl.constexpr, N: tl.constexpr):
    source = tl.make_tensor_descriptor(x, shape=[m, n], strides=[n, 1], block_shape=[M, N])
    target = tl.make_tensor_descriptor(out, shape=[m, n], strides=[n, 1], block_shape=[M, N])
    at = [tl.program_id(0) * M, tl.program_id(1) * N]
    a = source.load(at)
    target.store(at, tl.exp(a) * a)
