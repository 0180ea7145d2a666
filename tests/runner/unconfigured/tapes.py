"""Loops whose number of turns is itself a quotient of sizes, behind the last whole block."""

import triton
import triton.language as tl


@triton.jit
def last_whole(n, block):
    return tl.cdiv(n, block) * block - block


@triton.jit
def whole_blocks_then_the_rest(x_ptr, y_ptr, n, B: tl.constexpr):
    row = tl.program_id(0)
    largest = tl.full([B], -float("inf"), tl.float32)
    total = tl.zeros([B], tl.float32)
    for start in range(0, last_whole(n, B), B):
        x = tl.load(x_ptr + row * n + start + tl.arange(0, B))
        both = tl.maximum(largest, x)
        total = tl.exp(largest - both) * total + tl.exp(x - both)
        largest = both
    for start in range(last_whole(n, B), n, B):
        at = start + tl.arange(0, B)
        x = tl.load(x_ptr + row * n + at, mask=at < n, other=-float("inf"))
        both = tl.maximum(largest, x)
        total = tl.exp(largest - both) * total + tl.exp(x - both)
        largest = both
    peak = tl.max(largest, 0)
    tl.store(y_ptr + row, peak + tl.log(tl.sum(tl.exp(largest - peak) * total)))
