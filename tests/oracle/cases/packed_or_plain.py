"""Tensors that hold packed integers under one value of a constexpr, and floats with a gradient under another."""

# case: {"class": "packed", "call": "m.weigh(q, c)", "inputs": {"q": [37], "c": [37]}}
# case: {"class": "packed", "call": "m.weigh(q, c, s)", "inputs": {"q": [37], "s": [5], "c": {"shape": [5], "dtype": "int32", "values": [19088743, 1985229328, 305419896, 252645135, 1431655765]}}}
# case: {"class": "packed", "call": "m.mix(q, k, v)", "inputs": {"q": [16, 16], "k": [32, 16], "v": [32, 16]}}
# case: {"class": "packed", "call": "m.mix(q, k, v, ks)", "inputs": {"q": [16, 16], "ks": [16], "v": [16, 16], "k": {"shape": [16, 2], "dtype": "int32", "low": 0, "high": 2000000000}}}
# case: {"class": "packed", "call": "m.mix(q, k, v, None, vs)", "inputs": {"q": [16, 16], "k": [16, 16], "vs": [16], "v": {"shape": [16, 4], "dtype": "int32", "low": 0, "high": 2000000000}}}

import torch
import triton
import triton.language as tl


@triton.jit
def weigh_kernel(q_ptr, c_ptr, s_ptr, out_ptr, n, PACKED: tl.constexpr, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    q = tl.load(q_ptr + offs, mask=mask, other=0.0)
    if PACKED:
        words = tl.load(c_ptr + offs // 8, mask=mask, other=0)
        c = ((words >> (4 * (offs % 8))) & 15).to(tl.float32)
        c *= tl.load(s_ptr + offs // 8, mask=mask, other=0.0)
    else:
        c = tl.load(c_ptr + offs, mask=mask, other=0.0)
    tl.store(out_ptr + offs, q * c + tl.sin(q), mask=mask)


def weigh(q, c, s=None):
    out = torch.empty_like(q)
    n = q.numel()
    weigh_kernel[(triton.cdiv(n, 16),)](q, c, s, out, n, PACKED=s is not None, BLOCK=16)
    return out


@triton.jit
def unpack(words_ptr, scale_ptr, rows, lanes, BITS: tl.constexpr, D: tl.constexpr):
    EACH: tl.constexpr = 32 // BITS
    words = tl.load(words_ptr + rows[:, None] * (D // EACH) + (lanes // EACH)[None, :])
    whole = (words >> (BITS * (lanes % EACH))[None, :]) & ((1 << BITS) - 1)
    return whole.to(tl.float32) / (1 << BITS) * tl.load(scale_ptr + rows)[:, None]


@triton.jit
def mix_kernel(
    q_ptr, k_ptr, v_ptr, ks_ptr, vs_ptr, out_ptr, length, K_BITS: tl.constexpr, V_BITS: tl.constexpr, B: tl.constexpr, D: tl.constexpr
):
    rows = tl.program_id(0) * B + tl.arange(0, B)
    lanes = tl.arange(0, D)
    q = tl.load(q_ptr + rows[:, None] * D + lanes[None, :])
    top = tl.full((B,), -float("inf"), tl.float32)
    total = tl.zeros((B,), tl.float32)
    acc = tl.zeros((B, D), tl.float32)
    for start in range(0, length, B):
        cols = start + tl.arange(0, B)
        if K_BITS > 0:
            k = unpack(k_ptr, ks_ptr, cols, lanes, K_BITS, D)
        else:
            k = tl.load(k_ptr + cols[:, None] * D + lanes[None, :])
        scores = tl.dot(q, tl.trans(k), input_precision="ieee")
        higher = tl.maximum(top, tl.max(scores, 1))
        p = tl.exp(scores - higher[:, None])
        less = tl.exp(top - higher)
        if V_BITS == 0:
            v = tl.load(v_ptr + cols[:, None] * D + lanes[None, :])
        else:
            v = unpack(v_ptr, vs_ptr, cols, lanes, V_BITS, D)
        acc = acc * less[:, None] + tl.dot(p.to(v.dtype), v, input_precision="ieee")
        total = total * less + tl.sum(p, 1)
        top = higher
    tl.store(out_ptr + rows[:, None] * D + lanes[None, :], acc / total[:, None])


def mix(q, k, v, ks=None, vs=None):
    n, d = q.shape
    assert n % 16 == 0 and k.shape[0] % 16 == 0
    out = torch.empty_like(q)
    k_bits = 0 if ks is None else 32 * k.shape[1] // d
    v_bits = 0 if vs is None else 32 * v.shape[1] // d
    mix_kernel[(n // 16,)](q, k, v, ks, vs, out, k.shape[0], K_BITS=k_bits, V_BITS=v_bits, B=16, D=d)
    return out
