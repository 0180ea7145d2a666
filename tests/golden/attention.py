import triton
import triton.language as tl


@triton.jit
def attention_kernel(
    q,
    k,
    v,
    o,
    lse,
    scale,
    T,
    H: tl.constexpr,
    D: tl.constexpr,
    BT: tl.constexpr,
    BS: tl.constexpr,
    CAUSAL: tl.constexpr,
):
    i_t, i_bh = tl.program_id(0), tl.program_id(1)
    base = i_bh * T * D
    p_q = tl.make_block_ptr(q + base, (T, D), (D, 1), (i_t * BT, 0), (BT, D), (1, 0))
    b_q = tl.load(p_q, boundary_check=(0,))
    acc = tl.zeros([BT, D], dtype=tl.float32)
    m = tl.full([BT], float("-inf"), dtype=tl.float32)
    total = tl.zeros([BT], dtype=tl.float32)
    rows = i_t * BT + tl.arange(0, BT)
    end = (i_t + 1) * BT if CAUSAL else T
    for start in range(0, end, BS):
        p_k = tl.make_block_ptr(k + base, (D, T), (1, D), (0, start), (D, BS), (0, 1))
        p_v = tl.make_block_ptr(v + base, (T, D), (D, 1), (start, 0), (BS, D), (1, 0))
        s = tl.dot(b_q, tl.load(p_k, boundary_check=(1,))) * scale
        columns = start + tl.arange(0, BS)
        if CAUSAL:
            s = tl.where(rows[:, None] >= columns[None, :], s, float("-inf"))
        m_new = tl.maximum(m, tl.max(s, 1))
        alpha = tl.exp(m - m_new)
        p = tl.exp(s - m_new[:, None])
        total = total * alpha + tl.sum(p, 1)
        b_v = tl.load(p_v, boundary_check=(0,))
        acc = acc * alpha[:, None] + tl.dot(p.to(b_v.dtype), b_v)
        m = m_new
    acc /= total[:, None]
    p_o = tl.make_block_ptr(o + base, (T, D), (D, 1), (i_t * BT, 0), (BT, D), (1, 0))
    tl.store(p_o, acc.to(p_o.dtype.element_ty), boundary_check=(0,))
    tl.store(lse + i_bh * T + rows, m + tl.log(total), mask=rows < T)
