# ruff: noqa: E501, E731
"""Twenty further ones of the kind of arrivals.py: audio, reinforcement, graphs, molecules, signals, pictures, language."""

import math

import torch
import triton
import triton.language as tl


@triton.jit
def mulaw_kernel(x_ptr, y_ptr, n, mu, inv_log, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    step = tl.num_programs(0) * BLOCK
    for start in range(pid * BLOCK, n, step):
        i = start + tl.arange(0, BLOCK)
        m = i < n
        x = tl.load(x_ptr + i, mask=m, other=0.0)
        y = tl.log(1.0 + mu * tl.abs(x)) * inv_log
        tl.store(y_ptr + i, tl.where(x < 0, -y, y), mask=m)


def mulaw(x, mu=255.0):
    """The companding of telephony."""
    y = torch.empty_like(x)
    n = x.numel()
    mulaw_kernel[(min(triton.cdiv(n, 2048), 132 * 16),)](x, y, n, mu, 1.0 / math.log1p(mu), BLOCK=2048, num_warps=8)
    return y


@triton.jit
def int8_dequant_kernel(
    q_ptr, scale_ptr, zero_ptr, w_ptr, n_groups, GROUP: tl.constexpr, BLOCK_G: tl.constexpr
):
    g = tl.program_id(0) * BLOCK_G + tl.arange(0, BLOCK_G)
    j = tl.arange(0, GROUP)
    gm = g < n_groups
    offs = g[:, None] * GROUP + j[None, :]
    q = tl.load(q_ptr + offs, mask=gm[:, None], other=0).to(tl.float32)
    scale = tl.load(scale_ptr + g, mask=gm, other=0.0).to(tl.float32)
    zero = tl.load(zero_ptr + g, mask=gm, other=0.0).to(tl.float32)
    w = (q - zero[:, None]) * scale[:, None]
    tl.store(w_ptr + offs, w.to(w_ptr.dtype.element_ty), mask=gm[:, None])


def int8_dequant(q, scale, zero):
    """q is (N, K) of int8; a scale and a zero point, both learned, for each K // G of a row's columns: (N, G)."""
    N, K = q.shape
    G = scale.shape[1]
    w = torch.empty(N, K, device=q.device, dtype=scale.dtype)
    n_groups = N * G
    int8_dequant_kernel[(triton.cdiv(n_groups, 16),)](q, scale, zero, w, n_groups, GROUP=K // G, BLOCK_G=16)
    return w


@triton.autotune(
    configs=[triton.Config({"BLOCK": 64}, num_warps=2), triton.Config({"BLOCK": 128}, num_warps=4)],
    key=["N"],
)
@triton.jit
def gae_kernel(reward_ptr, value_ptr, done_ptr, adv_ptr, T, N, gamma, lam, BLOCK: tl.constexpr):
    env = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = env < N
    after = tl.load(value_ptr + T * N + env, mask=mask, other=0.0)
    adv = tl.zeros([BLOCK], dtype=tl.float32)
    for i in range(T):
        t = T - 1 - i
        r = tl.load(reward_ptr + t * N + env, mask=mask, other=0.0)
        v = tl.load(value_ptr + t * N + env, mask=mask, other=0.0)
        go = 1.0 - tl.load(done_ptr + t * N + env, mask=mask, other=0.0)
        adv = r + gamma * after * go - v + gamma * lam * go * adv
        tl.store(adv_ptr + t * N + env, adv, mask=mask)
        after = v


def gae(reward, value, done, gamma=0.99, lam=0.95):
    """Generalized advantages: reward and done are (T, N), value is (T + 1, N)."""
    T, N = reward.shape
    adv = torch.empty_like(reward)
    grid = lambda meta: (triton.cdiv(N, meta["BLOCK"]),)
    gae_kernel[grid](reward, value, done, adv, T, N, gamma, lam)
    return adv


@triton.jit
def retention_decay_kernel(s_ptr, o_ptr, log2_gamma_ptr, T, H, scale, BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr):
    q = tl.program_id(0) * BLOCK_Q + tl.arange(0, BLOCK_Q)
    k = tl.program_id(1) * BLOCK_K + tl.arange(0, BLOCK_K)
    bh = tl.program_id(2)
    log2_gamma = tl.load(log2_gamma_ptr + bh % H)
    far = q[:, None] - k[None, :]
    inside = (q[:, None] < T) & (k[None, :] < T)
    at = (bh * T + q[:, None]) * T + k[None, :]
    s = tl.load(s_ptr + at, mask=inside & (far >= 0), other=0.0).to(tl.float32)
    decay = tl.exp2(tl.maximum(far, 0).to(tl.float32) * log2_gamma)
    tl.store(o_ptr + at, tl.where(far >= 0, s * scale * decay, 0.0), mask=inside)


class Retention:
    """Scores that decay with the distance, each head at its rate."""

    BLOCK_Q, BLOCK_K = 32, 128

    @classmethod
    def launch(cls, scores, log2_gamma, scale):
        B, H, T, _ = scores.shape
        out = torch.empty_like(scores)
        grid = (triton.cdiv(T, cls.BLOCK_Q), triton.cdiv(T, cls.BLOCK_K), B * H)
        retention_decay_kernel[grid](
            scores, out, log2_gamma, T, H, scale, BLOCK_Q=cls.BLOCK_Q, BLOCK_K=cls.BLOCK_K, num_warps=4
        )
        return out


def retention_decay(scores, log2_gamma, scale):
    return Retention.launch(scores, log2_gamma, scale)


@triton.jit
def _link(a1, b1, a2, b2):
    return a1 * a2, a2 * b1 + b2


@triton.jit
def min_gru_kernel(x_ptr, h_ptr, T, C, stride_xt, BLOCK_T: tl.constexpr, BLOCK_C: tl.constexpr):
    b = tl.program_id(1)
    c = tl.program_id(0) * BLOCK_C + tl.arange(0, BLOCK_C)
    cm = c < C
    step = tl.arange(0, BLOCK_T)
    carry = tl.zeros([BLOCK_C], dtype=tl.float32)
    for start in range(0, T, BLOCK_T):
        t = start + step
        m = (t < T)[:, None] & cm[None, :]
        src = x_ptr + (b * T + t[:, None]) * stride_xt + c[None, :]
        k = tl.load(src, mask=m, other=0.0).to(tl.float32)
        v = tl.load(src + C, mask=m, other=0.0).to(tl.float32)
        z = tl.sigmoid(k)
        cand = tl.where(v >= 0, v + 0.5, tl.sigmoid(v))
        a, h = tl.associative_scan((1.0 - z, z * cand), 0, _link)
        h = h + a * carry[None, :]
        tl.store(h_ptr + (b * T + t[:, None]) * C + c[None, :], h.to(h_ptr.dtype.element_ty), mask=m)
        carry = tl.sum(tl.where((step == BLOCK_T - 1)[:, None], h, 0.0), axis=0)


def min_gru(x):
    """x is (B, T, 2 * C): the gates, then the candidates."""
    B, T, C2 = x.shape
    C = C2 // 2
    h = torch.empty(B, T, C, device=x.device, dtype=x.dtype)
    min_gru_kernel[(triton.cdiv(C, 32), B)](x, h, T, C, x.stride(1), BLOCK_T=64, BLOCK_C=32, num_warps=4)
    return h


@triton.jit
def segment_softmax_kernel(s_ptr, offsets_ptr, p_ptr, H: tl.constexpr, BLOCK: tl.constexpr):
    """Attention over the edges that end in a node, each head for itself."""
    node = tl.program_id(0)
    begin = tl.load(offsets_ptr + node)
    end = tl.load(offsets_ptr + node + 1)
    h = tl.arange(0, H)
    top = tl.full([H], float("-inf"), dtype=tl.float32)
    for start in range(begin, end, BLOCK):
        e = start + tl.arange(0, BLOCK)
        s = tl.load(s_ptr + e[:, None] * H + h[None, :], mask=(e < end)[:, None], other=float("-inf"))
        top = tl.maximum(top, tl.max(s, axis=0))
    total = tl.zeros([H], dtype=tl.float32)
    for start in range(begin, end, BLOCK):
        e = start + tl.arange(0, BLOCK)
        s = tl.load(s_ptr + e[:, None] * H + h[None, :], mask=(e < end)[:, None], other=float("-inf"))
        total += tl.sum(tl.exp(s - top[None, :]), axis=0)
    for start in range(begin, end, BLOCK):
        e = start + tl.arange(0, BLOCK)
        m = (e < end)[:, None]
        s = tl.load(s_ptr + e[:, None] * H + h[None, :], mask=m, other=float("-inf"))
        tl.store(p_ptr + e[:, None] * H + h[None, :], tl.exp(s - top[None, :]) / total[None, :], mask=m)


def segment_softmax(scores, offsets):
    """scores is (E, H), sorted by the node that an edge ends in; H is a power of two."""
    p = torch.empty_like(scores)
    nodes = offsets.numel() - 1
    segment_softmax_kernel[(nodes,)](scores, offsets, p, H=scores.shape[1], BLOCK=16, num_warps=1)
    return p


@triton.jit
def spmm_rows_kernel(rowptr, col, val, x, y, D, BLOCK_D: tl.constexpr):
    row = tl.program_id(0)
    d = tl.program_id(1) * BLOCK_D + tl.arange(0, BLOCK_D)
    mask = d < D
    acc = tl.zeros((BLOCK_D,), dtype=tl.float32)
    lo = tl.load(rowptr + row)
    hi = tl.load(rowptr + row + 1)
    for e in range(lo, hi):
        j = tl.load(col + e)
        w = tl.load(val + e)
        acc += w * tl.load(x + j * D + d, mask=mask, other=0.0)
    tl.store(y + row * D + d, acc, mask=mask)


def spmm_rows(rowptr, col, val, x):
    """A sparse matrix, in compressed rows, by a dense one."""
    rows = rowptr.shape[0] - 1
    D = x.shape[1]
    y = torch.empty((rows, D), device=x.device, dtype=x.dtype)
    spmm_rows_kernel[(rows, triton.cdiv(D, 128))](rowptr, col, val, x, y, D, BLOCK_D=128, num_warps=2)
    return y


@triton.jit
def lennard_jones_kernel(pos_ptr, energy_ptr, N, epsilon, sigma2, soft, cutoff2, BI: tl.constexpr, BJ: tl.constexpr):
    """Half of the pair energies of each particle, inside a cutoff, of a softened distance."""
    b = tl.program_id(1)
    i = tl.program_id(0) * BI + tl.arange(0, BI)
    mi = i < N
    base = pos_ptr + b * N * 3
    xi = tl.load(base + i * 3 + 0, mask=mi, other=0.0)
    yi = tl.load(base + i * 3 + 1, mask=mi, other=0.0)
    zi = tl.load(base + i * 3 + 2, mask=mi, other=0.0)
    acc = tl.zeros([BI], dtype=tl.float32)
    for start in range(0, N, BJ):
        j = start + tl.arange(0, BJ)
        mj = j < N
        xj = tl.load(base + j * 3 + 0, mask=mj, other=0.0)
        yj = tl.load(base + j * 3 + 1, mask=mj, other=0.0)
        zj = tl.load(base + j * 3 + 2, mask=mj, other=0.0)
        dx = xi[:, None] - xj[None, :]
        dy = yi[:, None] - yj[None, :]
        dz = zi[:, None] - zj[None, :]
        r2 = dx * dx + dy * dy + dz * dz + soft
        u = sigma2 / r2
        u = u * u * u
        pair = (i[:, None] != j[None, :]) & mj[None, :] & (r2 < cutoff2)
        acc += tl.sum(tl.where(pair, 4.0 * epsilon * (u * u - u), 0.0), axis=1)
    tl.store(energy_ptr + b * N + i, 0.5 * acc, mask=mi)


def lennard_jones(pos, epsilon=1.0, sigma=1.0, soft=0.5, cutoff=4.0):
    B, N, _ = pos.shape
    energy = torch.empty(B, N, device=pos.device, dtype=pos.dtype)
    lennard_jones_kernel[(triton.cdiv(N, 32), B)](
        pos, energy, N, epsilon, sigma * sigma, soft, cutoff * cutoff, BI=32, BJ=64
    )
    return energy


@triton.jit
def fft_stage_kernel(re_ptr, im_ptr, ore_ptr, oim_ptr, total, half, BLOCK: tl.constexpr):
    """A radix-2 stage: pairs half apart, the twiddle computed."""
    p = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = p < total
    j = p % half
    top = (p // half) * 2 * half + j
    low = top + half
    angle = -3.141592653589793 * j.to(tl.float32) / half
    wr = tl.cos(angle)
    wi = tl.sin(angle)
    ar = tl.load(re_ptr + top, mask=mask, other=0.0)
    ai = tl.load(im_ptr + top, mask=mask, other=0.0)
    br = tl.load(re_ptr + low, mask=mask, other=0.0)
    bi = tl.load(im_ptr + low, mask=mask, other=0.0)
    tr = br * wr - bi * wi
    ti = br * wi + bi * wr
    tl.store(ore_ptr + top, ar + tr, mask=mask)
    tl.store(oim_ptr + top, ai + ti, mask=mask)
    tl.store(ore_ptr + low, ar - tr, mask=mask)
    tl.store(oim_ptr + low, ai - ti, mask=mask)


def fft_stage(re, im, half):
    """re and im are (M, N); half divides N // 2."""
    ore, oim = torch.empty_like(re), torch.empty_like(im)
    total = re.numel() // 2
    fft_stage_kernel[(triton.cdiv(total, 1024),)](re, im, ore, oim, total, half, BLOCK=1024)
    return ore, oim


@triton.jit
def lifting53_kernel(x_ptr, lo_ptr, hi_ptr, N, stride_x, stride_o, BLOCK: tl.constexpr):
    """The 5/3 wavelet by lifting: odd samples less their neighbours' mean, even ones plus a quarter of the details."""
    row = tl.program_id(0)
    i = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    half = N // 2
    m = i < half
    x = x_ptr + row * stride_x
    even = tl.load(x + 2 * i, mask=m, other=0.0).to(tl.float32)
    odd = tl.load(x + 2 * i + 1, mask=m, other=0.0).to(tl.float32)
    after = tl.where(i < half - 1, 2 * i + 2, N - 2)
    detail = odd - 0.5 * (even + tl.load(x + after, mask=m, other=0.0).to(tl.float32))
    # the detail of the pair before; the first pair mirrors its own
    k = tl.where(i > 0, i - 1, 0)
    k_after = tl.where(k < half - 1, 2 * k + 2, N - 2)
    k_even = tl.load(x + 2 * k, mask=m, other=0.0).to(tl.float32)
    k_odd = tl.load(x + 2 * k + 1, mask=m, other=0.0).to(tl.float32)
    before = k_odd - 0.5 * (k_even + tl.load(x + k_after, mask=m, other=0.0).to(tl.float32))
    tl.store(hi_ptr + row * stride_o + i, detail, mask=m)
    tl.store(lo_ptr + row * stride_o + i, even + 0.25 * (before + detail), mask=m)


def lifting53(x):
    M, N = x.shape
    lo = torch.empty(M, N // 2, device=x.device, dtype=x.dtype)
    hi = torch.empty_like(lo)
    lifting53_kernel[(M, triton.cdiv(N // 2, 512))](x, lo, hi, N, x.stride(0), lo.stride(0), BLOCK=512)
    return lo, hi


@triton.jit
def color_jitter_kernel(x_ptr, bright_ptr, sat_ptr, y_ptr, P, BLOCK: tl.constexpr):
    n = tl.program_id(1)
    p = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = p < P
    base = x_ptr + n * 3 * P + p
    bright = tl.load(bright_ptr + n)
    sat = tl.load(sat_ptr + n)
    r = tl.load(base, mask=m, other=0.0).to(tl.float32) * bright
    g = tl.load(base + P, mask=m, other=0.0).to(tl.float32) * bright
    b = tl.load(base + 2 * P, mask=m, other=0.0).to(tl.float32) * bright
    gray = 0.299 * r + 0.587 * g + 0.114 * b
    out = y_ptr + n * 3 * P + p
    tl.store(out, tl.minimum(tl.maximum(gray + sat * (r - gray), 0.0), 1.0), mask=m)
    tl.store(out + P, tl.minimum(tl.maximum(gray + sat * (g - gray), 0.0), 1.0), mask=m)
    tl.store(out + 2 * P, tl.minimum(tl.maximum(gray + sat * (b - gray), 0.0), 1.0), mask=m)


def color_jitter(x, brightness, saturation):
    """Pictures (N, 3, H, W) from zero to one, a brightness and a saturation of each."""
    N, _, H, W = x.shape
    y = torch.empty_like(x)
    color_jitter_kernel[(triton.cdiv(H * W, 1024), N)](x, brightness, saturation, y, H * W, BLOCK=1024)
    return y


@triton.jit
def layer_composite_kernel(rgba_ptr, out_ptr, L, P, BLOCK: tl.constexpr):
    """Planes of a multiplane image, front to back."""
    n = tl.program_id(1)
    p = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = p < P
    left = tl.full([BLOCK], 1.0, dtype=tl.float32)
    r = tl.zeros([BLOCK], dtype=tl.float32)
    g = tl.zeros([BLOCK], dtype=tl.float32)
    b = tl.zeros([BLOCK], dtype=tl.float32)
    for l in range(L):  # noqa: E741
        at = rgba_ptr + (n * L + l) * 4 * P + p
        alpha = tl.sigmoid(tl.load(at + 3 * P, mask=m, other=0.0))
        w = alpha * left
        r += w * tl.load(at, mask=m, other=0.0)
        g += w * tl.load(at + P, mask=m, other=0.0)
        b += w * tl.load(at + 2 * P, mask=m, other=0.0)
        left = left * (1.0 - alpha)
    out = out_ptr + n * 3 * P + p
    tl.store(out, r, mask=m)
    tl.store(out + P, g, mask=m)
    tl.store(out + 2 * P, b, mask=m)


def layer_composite(rgba):
    """rgba is (N, L, 4, H, W), its last channel the logit of what is covered."""
    N, L, _, H, W = rgba.shape
    out = torch.empty(N, 3, H, W, device=rgba.device, dtype=rgba.dtype)
    layer_composite_kernel[(triton.cdiv(H * W, 256), N)](rgba, out, L, H * W, BLOCK=256)
    return out


@triton.jit
def grid_bilinear_kernel(
    x_ptr, grid_ptr, y_ptr, C, H, W, P, sxn, sxc, sxh, sxw, BLOCK: tl.constexpr
):
    n = tl.program_id(1)
    p = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = p < P
    gx = tl.load(grid_ptr + (n * P + p) * 2, mask=m, other=0.0)
    gy = tl.load(grid_ptr + (n * P + p) * 2 + 1, mask=m, other=0.0)
    ix = ((gx + 1.0) * W - 1.0) * 0.5
    iy = ((gy + 1.0) * H - 1.0) * 0.5
    fx = tl.floor(ix)
    fy = tl.floor(iy)
    wx = ix - fx
    wy = iy - fy
    x0 = fx.to(tl.int32)
    y0 = fy.to(tl.int32)
    x_in0 = (x0 >= 0) & (x0 < W)
    x_in1 = (x0 >= -1) & (x0 < W - 1)
    y_in0 = (y0 >= 0) & (y0 < H)
    y_in1 = (y0 >= -1) & (y0 < H - 1)
    at = x_ptr + n * sxn + y0 * sxh + x0 * sxw
    for c in range(C):
        a = tl.load(at + c * sxc, mask=m & y_in0 & x_in0, other=0.0)
        b = tl.load(at + c * sxc + sxw, mask=m & y_in0 & x_in1, other=0.0)
        d = tl.load(at + c * sxc + sxh, mask=m & y_in1 & x_in0, other=0.0)
        e = tl.load(at + c * sxc + sxh + sxw, mask=m & y_in1 & x_in1, other=0.0)
        upper = a * (1.0 - wx) + b * wx
        lower = d * (1.0 - wx) + e * wx
        tl.store(y_ptr + (n * C + c) * P + p, upper * (1.0 - wy) + lower * wy, mask=m)


def grid_bilinear(x, grid):
    """Samples of x (N, C, H, W) at places (N, h, w, 2) from -1 to 1; nothing lies outside."""
    N, C, H, W = x.shape
    _, h, w, _ = grid.shape
    y = torch.empty(N, C, h, w, device=x.device, dtype=x.dtype)
    grid_bilinear_kernel[(triton.cdiv(h * w, 128), N)](x, grid, y, C, H, W, h * w, *x.stride(), BLOCK=128)
    return y


@triton.jit
def cat_broadcast_kernel(x_ptr, c_ptr, y_ptr, T, D, E, stride_y, BLOCK_D: tl.constexpr, BLOCK_E: tl.constexpr):
    row = tl.program_id(0)
    b = row // T
    d = tl.arange(0, BLOCK_D)
    e = tl.arange(0, BLOCK_E)
    tl.store(y_ptr + row * stride_y + d, tl.load(x_ptr + row * D + d, mask=d < D), mask=d < D)
    tl.store(y_ptr + row * stride_y + D + e, tl.load(c_ptr + b * E + e, mask=e < E), mask=e < E)


def cat_broadcast(x, cond):
    """The sample's vector (B, E) behind each token (B, T, D)."""
    B, T, D = x.shape
    E = cond.shape[1]
    y = torch.empty(B, T, D + E, device=x.device, dtype=x.dtype)
    cat_broadcast_kernel[(B * T,)](
        x, cond, y, T, D, E, y.stride(1), BLOCK_D=triton.next_power_of_2(D), BLOCK_E=triton.next_power_of_2(E)
    )
    return y


@triton.jit
def mae_restore_kernel(x_ptr, token_ptr, pos_ptr, ids_ptr, y_ptr, T, V, D, BLOCK: tl.constexpr):
    t = tl.program_id(0)
    b = tl.program_id(1)
    d = tl.arange(0, BLOCK)
    m = d < D
    i = tl.load(ids_ptr + b * T + t)
    if i < V:
        v = tl.load(x_ptr + (b * V + i) * D + d, mask=m, other=0.0)
    else:
        v = tl.load(token_ptr + d, mask=m, other=0.0)
    pos = tl.load(pos_ptr + t * D + d, mask=m, other=0.0)
    tl.store(y_ptr + (b * T + t) * D + d, v + pos, mask=m)


def mae_restore(x, token, pos, ids):
    """The decoder's input of a masked autoencoder: what was kept (B, V, D) at its place, the mask token elsewhere."""
    B, V, D = x.shape
    T = ids.shape[1]
    y = torch.empty(B, T, D, device=x.device, dtype=x.dtype)
    mae_restore_kernel[(T, B)](x, token, pos, ids, y, T, V, D, BLOCK=triton.next_power_of_2(D))
    return y


@triton.jit
def weight_standardize_kernel(w_ptr, gain_ptr, out_ptr, K, eps, BLOCK: tl.constexpr):
    o = tl.program_id(0)
    w_ptr += o * K
    out_ptr += o * K
    s = tl.zeros([BLOCK], dtype=tl.float32)
    for k in range(0, K, BLOCK):
        cols = k + tl.arange(0, BLOCK)
        s += tl.load(w_ptr + cols, mask=cols < K, other=0.0)
    mean = tl.sum(s, axis=0) / K
    v = tl.zeros([BLOCK], dtype=tl.float32)
    for k in range(0, K, BLOCK):
        cols = k + tl.arange(0, BLOCK)
        c = tl.where(cols < K, tl.load(w_ptr + cols, mask=cols < K, other=0.0) - mean, 0.0)
        v += c * c
    var = tl.sum(v, axis=0) / K
    scale = tl.load(gain_ptr + o) * tl.rsqrt(tl.maximum(var * K, eps))
    for k in range(0, K, BLOCK):
        cols = k + tl.arange(0, BLOCK)
        w = tl.load(w_ptr + cols, mask=cols < K, other=0.0)
        tl.store(out_ptr + cols, (w - mean) * scale, mask=cols < K)


def weight_standardize(w, gain, eps=1e-4):
    """Of norm-free nets: each filter (O, I, kh, kw) without its mean and of a learned length."""
    out = torch.empty_like(w)
    K = w[0].numel()
    weight_standardize_kernel[(w.shape[0],)](w, gain, out, K, eps, BLOCK=1024, num_warps=4)
    return out


@triton.jit
def grn_energy_kernel(x_ptr, g_ptr, P, C, BLOCK_P: tl.constexpr, BLOCK_C: tl.constexpr):
    n = tl.program_id(1)
    c = tl.program_id(0) * BLOCK_C + tl.arange(0, BLOCK_C)
    acc = tl.zeros([BLOCK_C], dtype=tl.float32)
    for start in range(0, P, BLOCK_P):
        p = start + tl.arange(0, BLOCK_P)
        m = (p < P)[:, None] & (c < C)[None, :]
        x = tl.load(x_ptr + (n * P + p[:, None]) * C + c[None, :], mask=m, other=0.0).to(tl.float32)
        acc += tl.sum(x * x, axis=0)
    tl.store(g_ptr + n * C + c, tl.sqrt(acc), mask=c < C)


@triton.jit
def grn_apply_kernel(x_ptr, nx_ptr, gamma_ptr, beta_ptr, y_ptr, total, P, C, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < total
    c = i % C
    n = i // (P * C)
    x = tl.load(x_ptr + i, mask=m, other=0.0).to(tl.float32)
    nx = tl.load(nx_ptr + n * C + c, mask=m, other=0.0)
    gamma = tl.load(gamma_ptr + c, mask=m, other=0.0).to(tl.float32)
    beta = tl.load(beta_ptr + c, mask=m, other=0.0).to(tl.float32)
    tl.store(y_ptr + i, gamma * (x * nx) + beta + x, mask=m)


def grn(x, gamma, beta):
    """Global response norm of ConvNeXt V2: x is (N, H, W, C)."""
    N, H, W, C = x.shape
    energy = torch.empty(N, C, device=x.device, dtype=torch.float32)
    grn_energy_kernel[(triton.cdiv(C, 32), N)](x, energy, H * W, C, BLOCK_P=64, BLOCK_C=32)
    nx = energy / (energy.mean(dim=-1, keepdim=True) + 1e-6)
    y = torch.empty_like(x)
    total = x.numel()
    grn_apply_kernel[(triton.cdiv(total, 1024),)](x, nx, gamma, beta, y, total, H * W, C, BLOCK=1024)
    return y


@triton.heuristics({"BLOCK": lambda args: min(4096, triton.next_power_of_2(args["V"]))})
@triton.jit
def arcface_ce_kernel(cos_ptr, label_ptr, loss_ptr, V, stride, s, cos_m, sin_m, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    label = tl.load(label_ptr + row)
    base = cos_ptr + row * stride
    own = tl.load(base + label).to(tl.float32)
    phi = own * cos_m - tl.sqrt(tl.maximum(1.0 - own * own, 1e-7)) * sin_m
    top = -1e30
    total = 0.0
    for start in range(0, V, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        m = cols < V
        z = tl.load(base + cols, mask=m, other=0.0).to(tl.float32)
        z = tl.where(m, s * tl.where(cols == label, phi, z), -1e30)
        new = tl.maximum(top, tl.max(z, axis=0))
        total = total * tl.exp(top - new) + tl.sum(tl.exp(z - new), axis=0)
        top = new
    tl.store(loss_ptr + row, top + tl.log(total) - s * phi)


def arcface_ce(cosine, labels, s=32.0, m=0.5):
    """Cross entropy of cosines (M, V), the label's angle larger by a margin."""
    M, V = cosine.shape
    loss = torch.empty(M, device=cosine.device, dtype=torch.float32)
    arcface_ce_kernel[(M,)](cosine, labels, loss, V, cosine.stride(0), s, math.cos(m), math.sin(m), num_warps=8)
    return loss


@triton.jit
def mdn_nll_kernel(param_ptr, y_ptr, loss_ptr, M, K: tl.constexpr, BLOCK_M: tl.constexpr):
    """Of a mixture of K Gaussians: logits, means, logarithms of deviations."""
    row = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    k = tl.arange(0, K)
    rm = row < M
    at = row[:, None] * (3 * K) + k[None, :]
    logit = tl.load(param_ptr + at, mask=rm[:, None], other=0.0).to(tl.float32)
    mu = tl.load(param_ptr + at + K, mask=rm[:, None], other=0.0).to(tl.float32)
    log_sigma = tl.load(param_ptr + at + 2 * K, mask=rm[:, None], other=0.0).to(tl.float32)
    y = tl.load(y_ptr + row, mask=rm, other=0.0)
    z = (y[:, None] - mu) * tl.exp(-log_sigma)
    joint = logit - 0.5 * z * z - log_sigma - 0.9189385332046727
    top = tl.max(joint, axis=1)
    log_joint = top + tl.log(tl.sum(tl.exp(joint - top[:, None]), axis=1))
    top = tl.max(logit, axis=1)
    log_norm = top + tl.log(tl.sum(tl.exp(logit - top[:, None]), axis=1))
    tl.store(loss_ptr + row, log_norm - log_joint, mask=rm)


def mdn_nll(params, y):
    M, K3 = params.shape
    loss = torch.empty_like(y)
    mdn_nll_kernel[(triton.cdiv(M, 64),)](params, y, loss, M, K=K3 // 3, BLOCK_M=64)
    return loss


@triton.jit
def token_logprob_kernel(
    logits_ptr, label_ptr, logp_ptr, entropy_ptr, stride_row, V, inv_temperature, BLOCK: tl.constexpr
):
    """One walk over the vocabulary: the label's log-probability and the entropy, at a temperature."""
    row = tl.program_id(0).to(tl.int64)
    logits = logits_ptr + row * stride_row
    top = float("-inf")
    total = 0.0
    weighted = 0.0
    for start in range(0, V, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        inside = cols < V
        z = tl.load(logits + cols, mask=inside, other=-float("inf")).to(tl.float32) * inv_temperature
        new = tl.maximum(top, tl.max(z, 0))
        e = tl.exp(z - new)
        shrink = tl.exp(top - new)
        total = total * shrink + tl.sum(e, 0)
        weighted = weighted * shrink + tl.sum(tl.where(inside, e * z, 0.0), 0)
        top = new
    lse = top + tl.log(total)
    label = tl.load(label_ptr + row)
    own = tl.load(logits + label).to(tl.float32) * inv_temperature
    tl.store(logp_ptr + row, own - lse)
    tl.store(entropy_ptr + row, lse - weighted / total)


def token_logprob(logits, labels, temperature=1.0):
    M, V = logits.shape
    logp = torch.empty((M,), dtype=torch.float32, device=logits.device)
    entropy = torch.empty((M,), dtype=torch.float32, device=logits.device)
    token_logprob_kernel[(M,)](
        logits, labels, logp, entropy, logits.stride(0), V, 1.0 / temperature, BLOCK=4096, num_warps=8
    )
    return logp, entropy
