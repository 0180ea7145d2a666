"""Movement of elements and products: broadcasts, transposes, joins, splits, gathers, dots of rank 2 and 3."""

import triton
import triton.language as tl


# tad: m=6, n=11, x=f32[m], y=f32[n], s=f32[1], out=f32[m, n], M=8, N=16, grid=(1,)
@triton.jit
def broadcast_both_ways(x, y, s, out, m, n, M: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, M)
    j = tl.arange(0, N)
    mask = (i < m)[:, None] & (j < n)[None, :]
    a = tl.load(x + i, mask=i < m, other=0.0)[:, None]
    b = tl.load(y + j, mask=j < n, other=0.0)[None, :]
    tile = a * b + tl.load(s) * a - tl.broadcast_to(b, (M, N))
    total = tl.expand_dims(tl.sum(tl.where(mask, tile, 0.0), 1), 1)
    tl.store(out + i[:, None] * n + j[None, :], tile + total, mask=mask)


# tad: x=f32[8, 16], y=f32[16, 8], out=f32[16, 8], M=8, N=16, grid=(1,)
@triton.jit
def transposes(x, y, out, M: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, M)
    j = tl.arange(0, N)
    a = tl.load(x + i[:, None] * N + j[None, :])
    b = tl.load(y + j[:, None] * M + i[None, :])
    tl.store(
        out + j[:, None] * M + i[None, :], tl.trans(a) * b + a.T * 2.0 + tl.permute(a * a, (1, 0))
    )


# tad: x=f32[4, 8, 16], out=f32[16, 4, 8], A=4, B=8, C=16, grid=(1,)
@triton.jit
def permuted_cube(x, out, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr):
    i = tl.arange(0, A)[:, None, None]
    j = tl.arange(0, B)[None, :, None]
    k = tl.arange(0, C)[None, None, :]
    cube = tl.load(x + i * B * C + j * C + k)
    turned = tl.permute(cube * cube, (2, 0, 1))
    at = (
        tl.arange(0, C)[:, None, None] * A * B
        + tl.arange(0, A)[None, :, None] * B
        + tl.arange(0, B)[None, None, :]
    )
    tl.store(out + at, turned)


# tad: x=f32[64], out=f32[64], N=64, grid=(1,)
@triton.jit
def reshaped(x, out, N: tl.constexpr):
    j = tl.arange(0, N)
    a = tl.load(x + j)
    square = tl.reshape(a, (N // 8, 8))
    square = square * tl.sum(square, axis=1)[:, None]
    tl.store(out + j, tl.ravel(square) + tl.reshape(tl.trans(square), [N]))


# tad: x=f32[16], y=f32[16], out=f32[32], both=f32[32], N=16, grid=(1,)
@triton.jit
def joined_and_split(x, y, out, both, N: tl.constexpr):
    j = tl.arange(0, N)
    a = tl.load(x + j)
    b = tl.load(y + j)
    pair = tl.join(a * a, b)
    left, right = tl.split(pair * 2.0)
    tl.store(out + tl.arange(0, 2 * N), tl.interleave(left * b, right - a))
    tl.store(both + j[:, None] * 2 + tl.arange(0, 2)[None, :], pair)


# tad: x=f32[16], out=f32[16], N=16, grid=(1,)
@triton.jit
def flipped(x, out, N: tl.constexpr):
    j = tl.arange(0, N)
    a = tl.load(x + j)
    tl.store(out + j, tl.flip(a * a) * a)


# tad: x=f32[16], y=f32[16], out=f32[32], N=16, grid=(1,)
@triton.jit
def concatenated(x, y, out, N: tl.constexpr):
    a = tl.load(x + tl.arange(0, N))
    b = tl.load(y + tl.arange(0, N))
    tl.store(out + tl.arange(0, 2 * N), tl.cat(a * b, b, can_reorder=True) * 2.0)


# tad: x=f32[8, 16], index=i32[8, 16] in range(0, 16), out=f32[8, 16], M=8, N=16, grid=(1,)
@triton.jit
def gathered(x, index, out, M: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    a = tl.load(x + at)
    tl.store(out + at, tl.gather(a * a, tl.load(index + at), 1))


# tad: v=30, d=24, n=9, table=f32[v, d], index=i32[n] in range(0, 30), out=f32[n, d], D=32, grid=(n,)
@triton.jit
def embedding_rows(table, index, out, d, D: tl.constexpr):
    row = tl.program_id(0)
    j = tl.arange(0, D)
    token = tl.load(index + row)
    tl.store(out + row * d + j, tl.load(table + token * d + j, mask=j < d) * 2.0, mask=j < d)


# tad: a=f32[16, 32], b=f32[32, 16], c=f32[16, 16], out=f32[16, 16], M=16, N=16, K=32, grid=(1,)
@triton.jit
def dot_and_accumulate(a, b, c, out, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    i = tl.arange(0, M)
    j = tl.arange(0, N)
    k = tl.arange(0, K)
    left = tl.load(a + i[:, None] * K + k[None, :])
    right = tl.load(b + k[:, None] * N + j[None, :])
    start = tl.load(c + i[:, None] * N + j[None, :]).to(tl.float32)
    product = tl.dot(left, right, start * start, input_precision="ieee")
    tl.store(out + i[:, None] * N + j[None, :], product)


# tad: a=f32[2, 16, 16], b=f32[2, 16, 16], out=f32[2, 16, 16], B=2, N=16, grid=(1,)
@triton.jit
def batched_dot(a, b, out, B: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    at = tl.arange(0, B)[:, None, None] * N * N + i[None, :, None] * N + i[None, None, :]
    left = tl.load(a + at)
    right = tl.load(b + at)
    tl.store(out + at, tl.dot(left, tl.permute(right, (0, 2, 1)), input_precision="ieee"))


# tad: m=20, n=24, k=40, a=f32[m, k], b=f32[k, n], c=f32[m, n], BM=16, BN=16, BK=16, GROUP=2, grid=(4,)
@triton.jit
def grouped_matmul(
    a, b, c, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr
):
    pid = tl.program_id(0)
    rows = tl.cdiv(m, BM)
    cols = tl.cdiv(n, BN)
    group = GROUP * cols
    first = pid // group * GROUP
    size = min(rows - first, GROUP)
    pid_m = first + (pid % group) % size
    pid_n = (pid % group) // size
    i = pid_m * BM + tl.arange(0, BM)
    j = pid_n * BN + tl.arange(0, BN)
    kk = tl.arange(0, BK)
    a_at = a + i[:, None] * k + kk[None, :]
    b_at = b + kk[:, None] * n + j[None, :]
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for step in range(0, tl.cdiv(k, BK)):
        left = tl.load(a_at, mask=(i[:, None] < m) & (kk[None, :] < k - step * BK), other=0.0)
        right = tl.load(b_at, mask=(kk[:, None] < k - step * BK) & (j[None, :] < n), other=0.0)
        acc += tl.dot(left, right, input_precision="ieee")
        a_at += BK
        b_at += BK * n
    acc = tl.where(acc > 0, acc, 0.1 * acc)
    tl.store(c + i[:, None] * n + j[None, :], acc, mask=(i[:, None] < m) & (j[None, :] < n))


# tad: m=5, n=24, x=f32[m, 2 * n], out=f32[m, n], BLOCK=32, grid=(m,)
@triton.jit
def halves_of_a_row(x, out, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    j = tl.arange(0, BLOCK)
    mask = j < n
    gate = tl.load(x + row * 2 * n + j, mask=mask, other=0.0)
    up = tl.load(x + row * 2 * n + n + j, mask=mask, other=0.0)
    tl.store(out + row * n + j, gate * tl.sigmoid(gate) * up, mask=mask)


# tad: b=3, h=2, n=13, x=f32[b, h, n], w=f32[h], out=f32[b, h, n], sb=26, sh=13, BLOCK=8, grid=(b, h, 2)
@triton.jit
def three_axes_of_programs(x, w, out, n, sb, sh, BLOCK: tl.constexpr):
    base = tl.program_id(0) * sb + tl.program_id(1) * sh
    j = tl.program_id(2) * BLOCK + tl.arange(0, BLOCK)
    mask = j < n
    a = tl.load(x + base + j, mask=mask, other=0.0)
    tl.store(out + base + j, a * a * tl.load(w + tl.program_id(1)), mask=mask)


# tad: b=2, h=4, g=2, n=10, x=f32[b, h, n], k=f32[b, 2, n], out=f32[b, h, n], BLOCK=16, grid=(8,)
@triton.jit
def shared_heads(x, k, out, n, h, g, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    batch = pid // h
    head = pid % h
    j = tl.arange(0, BLOCK)
    mask = j < n
    a = tl.load(x + pid * n + j, mask=mask, other=0.0)
    b = tl.load(k + (batch * (h // g) + head // g) * n + j, mask=mask, other=0.0)
    tl.store(out + pid * n + j, a * tl.exp(b), mask=mask)


# tad: x=f32[4, 8], y=f32[4, 8], out=f32[4, 16], M=4, N=8, grid=(1,)
@triton.jit
def concatenated_in_order(x, y, out, M: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    a = tl.load(x + at)
    b = tl.load(y + at)
    both = tl.cat(a * b, tl.exp(b), dim=1)
    wide = tl.arange(0, 2 * N)
    tl.store(out + tl.arange(0, M)[:, None] * 2 * N + wide[None, :], both * (wide[None, :] + 1.0))


# tad: n=3, a=f32[n, 16], b=f32[n, 8], out=f32[n, 16], PAIRS=True, C=16, grid=(n,)
@triton.jit
def halved_and_doubled(a, b, out, n, PAIRS: tl.constexpr, C: tl.constexpr):
    """One branch has C lanes, the other twice C // 2: with a power of two these are the same."""
    row = tl.program_id(0)
    half = tl.load(b + row * (C // 2) + tl.arange(0, C // 2))
    if PAIRS:
        w = tl.reshape(tl.join(half, half * half), (2 * (C // 2),))
    else:
        w = tl.load(a + row * C + tl.arange(0, C)) * 0.5
    x = tl.load(a + row * C + tl.arange(0, C))
    tl.store(out + row * C + tl.arange(0, C), x * w)


# tad: n=3, x=f32[n, 16], scale=f32[1], out=f32[n, 16], C=16, grid=(n,)
@triton.jit
def asks_its_types(x, scale, out, n, C: tl.constexpr):
    """What the kernel asks about element types is asked in its backward, too."""
    row = tl.program_id(0)
    lanes = tl.arange(0, C)
    a = tl.load(x + row * C + lanes)
    if a.dtype.is_fp16():
        a = a.to(tl.float32) * tl.load(scale)
    elif x.dtype.element_ty.primitive_bitwidth < 16:
        a = a.to(tl.float32) * 3.0
    tl.store(out + row * C + lanes, tl.exp(a.to(tl.float32)))


# tad: n=5, m=9, x=f32[9], y=f32[5, 9], w=f32[5, 9], M=8, N=16, grid=(1,)
@triton.jit
def mask_wider_than_place(x, w, y, n, m, M: tl.constexpr, N: tl.constexpr):
    """A mask may have more rows than the places that it is of."""
    rows, cols = tl.arange(0, M), tl.arange(0, N)
    both = (rows[:, None] < n) & (cols[None, :] < m)
    a = tl.load(x + cols[None, :], mask=both, other=0.0)
    b = tl.load(w + rows[:, None] * m + cols[None, :], mask=both, other=0.0)
    tl.store(y + rows[:, None] * m + cols[None, :], a * b, mask=both)


# tad: n=5, m=9, x=f32[9], y=f32[5, 9], M=8, N=16, grid=(1,)
@triton.jit
def wider_mask_alone(x, y, n, m, M: tl.constexpr, N: tl.constexpr):
    rows, cols = tl.arange(0, M), tl.arange(0, N)
    both = (rows[:, None] < n) & (cols[None, :] < m)
    a = tl.load(x + cols[None, :], mask=both, other=0.0)
    tl.store(y + rows[:, None] * m + cols[None, :], a * a, mask=both)
