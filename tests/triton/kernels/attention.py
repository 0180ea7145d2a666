import torch
import triton
import triton.language as tl

configs = [
    triton.Config({"BLOCK_M": 16, "BLOCK_N": 16}, num_warps=4, num_stages=2),
    triton.Config({"BLOCK_M": 32, "BLOCK_N": 16}, num_warps=4, num_stages=2),
]


@triton.jit
def _step(acc, l_i, m_i, q, k, v, valid, scale):
    s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
    s = tl.where(valid, s, float("-inf"))
    m_new = tl.maximum(m_i, tl.max(s, 1))
    alpha = tl.math.exp2(m_i - m_new)
    p = tl.math.exp2(s - m_new[:, None])
    l_i = l_i * alpha + tl.sum(p, 1)
    acc = acc * alpha[:, None] + tl.dot(p.to(v.dtype), v, input_precision="ieee")
    return acc, l_i, m_new


@triton.autotune(configs, key=["N"])
@triton.heuristics({"EVEN_N": lambda args: args["N"] % args["BLOCK_N"] == 0})
@triton.jit
def attention_kernel(
    Q, K, V, O, LSE, scale, stride_h, stride_n, N,
    D: tl.constexpr, CAUSAL: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
    EVEN_N: tl.constexpr,
):
    start_m = tl.program_id(0)
    head = tl.program_id(1)
    offs_m = start_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_d = tl.arange(0, D)
    base = head * stride_h
    q = tl.load(Q + base + offs_m[:, None] * stride_n + offs_d[None, :], mask=offs_m[:, None] < N, other=0.0)
    m_i = tl.full([BLOCK_M], float("-inf"), dtype=tl.float32)
    l_i = tl.zeros([BLOCK_M], dtype=tl.float32)
    acc = tl.zeros([BLOCK_M, D], dtype=tl.float32)
    hi = tl.minimum((start_m + 1) * BLOCK_M, N) if CAUSAL else N
    for start_n in range(0, hi, BLOCK_N):
        offs_n = start_n + tl.arange(0, BLOCK_N)
        if EVEN_N:
            k = tl.load(K + base + offs_n[:, None] * stride_n + offs_d[None, :])
            v = tl.load(V + base + offs_n[:, None] * stride_n + offs_d[None, :])
        else:
            k = tl.load(K + base + offs_n[:, None] * stride_n + offs_d[None, :], mask=offs_n[:, None] < N, other=0.0)
            v = tl.load(V + base + offs_n[:, None] * stride_n + offs_d[None, :], mask=offs_n[:, None] < N, other=0.0)
        valid = (offs_n < N)[None, :]
        if CAUSAL:
            valid = valid & (offs_n[None, :] <= offs_m[:, None])
        acc, l_i, m_i = _step(acc, l_i, m_i, q, k, v, valid, scale * 1.44269504)
    acc = acc / l_i[:, None]
    tl.store(O + base + offs_m[:, None] * stride_n + offs_d[None, :], acc.to(O.dtype.element_ty), mask=offs_m[:, None] < N)
    tl.store(LSE + head * N + offs_m, m_i / 1.44269504 + tl.log(l_i), mask=offs_m < N)


def attention(q, k, v, causal):
    heads, n, d = q.shape
    o = torch.empty_like(q)
    lse = torch.empty((heads, n), device=q.device, dtype=torch.float32)
    grid = lambda meta: (triton.cdiv(n, meta["BLOCK_M"]), heads)
    attention_kernel[grid](q, k, v, o, lse, d ** -0.5, q.stride(0), q.stride(1), n, D=d, CAUSAL=causal)
    return o, lse
