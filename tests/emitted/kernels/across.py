"""Keys that are loaded transposed: their gradient is summed as it lies in memory, beside that of the values."""

import torch
import triton
import triton.language as tl


@triton.jit
def keys_across(q, k, v, o, n_keys, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    """Rows of q against all keys, without a softmax."""
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    d = tl.arange(0, D)
    rows = tl.load(q + m[:, None] * D + d[None, :])
    acc = tl.zeros([BM, D], tl.float32)
    for start in range(0, n_keys, BN):
        n = start + tl.arange(0, BN)
        keys = tl.load(k + n[None, :] * D + d[:, None], mask=n[None, :] < n_keys, other=0.0)
        values = tl.load(v + n[:, None] * D + d[None, :], mask=n[:, None] < n_keys, other=0.0)
        s = tl.dot(rows, keys, input_precision="ieee")
        acc += tl.dot(s * s, values, input_precision="ieee")
    tl.store(o + m[:, None] * D + d[None, :], acc)


@triton.jit
def keys_by_strides(
    q,
    k,
    v,
    o,
    stride_kn,
    stride_kd,
    stride_vn,
    stride_vd,
    n_keys,
    D: tl.constexpr,
    BM: tl.constexpr,
    BN: tl.constexpr,
):
    """The same where the launch says how keys and values lie."""
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    d = tl.arange(0, D)
    rows = tl.load(q + m[:, None] * D + d[None, :])
    acc = tl.zeros([BM, D], tl.float32)
    for start in range(0, n_keys, BN):
        n = start + tl.arange(0, BN)
        keys = tl.load(
            k + n[None, :] * stride_kn + d[:, None] * stride_kd, mask=n[None, :] < n_keys, other=0.0
        )
        values = tl.load(
            v + n[:, None] * stride_vn + d[None, :] * stride_vd, mask=n[:, None] < n_keys, other=0.0
        )
        s = tl.dot(rows, keys, input_precision="ieee")
        acc += tl.dot(s * s, values, input_precision="ieee")
    tl.store(o + m[:, None] * D + d[None, :], acc)


def launch_across(q, k, v):
    o = torch.empty_like(q)
    keys_across[(q.shape[0] // 32,)](q, k, v, o, k.shape[0], D=16, BM=32, BN=16)
    return o


def launch_by_strides(q, k, v):
    o = torch.empty_like(q)
    strides = k.stride(0), k.stride(1), v.stride(0), v.stride(1)
    keys_by_strides[(q.shape[0] // 32,)](q, k, v, o, *strides, k.shape[0], D=16, BM=32, BN=16)
    return o
