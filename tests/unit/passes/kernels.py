"""Kernels for the passes that rarely find something to do: each of these changes, notes or refuses something here."""

import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor


@triton.jit
def joined(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    """All launches pass one tensor for both: the neighbour that is read has been stored."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0)
    tl.store(y_ptr + i, x * x, mask=i < n)
    tl.debug_barrier()
    again = tl.load(x_ptr + i, mask=i < n, other=0.0)
    tl.store(y_ptr + i, tl.sin(again) + x, mask=i < n)


def run_joined(x):
    y = x.clone()
    joined[(triton.cdiv(y.numel(), 8),)](y, y, y.numel(), BLOCK=8)
    return y


@triton.jit
def described(x_desc, w_desc, y_desc, n, SIZE: tl.constexpr):
    first = tl.program_id(0) * 4
    x = x_desc.load([first, 0])
    w = w_desc.load([0])
    y_desc.store([first, 0], x * tl.reshape(w, [1, SIZE]) + x * x)


def run_described(x, w):
    y = torch.empty_like(x)
    described[(triton.cdiv(x.shape[0], 4),)](
        TensorDescriptor.from_tensor(x, [4, 16]),
        TensorDescriptor.from_tensor(w, [16]),
        TensorDescriptor.from_tensor(y, [4, 16]),
        x.shape[1],
        SIZE=16,
    )
    return y


# tad: n=16, x=f32[n], y=f32[n], out=f32[n], BLOCK=16, grid=(1,)
@triton.jit
def stores_bits(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0.0).to(tl.float32)
    tl.store(y.to(tl.pointer_type(tl.int32)) + i, v.to(tl.int32, bitcast=True), mask=i < n)
    tl.store(out + i, v * v, mask=i < n)


# tad: x=f32[3, 8, 8], a=f32[3, 8, 8], N=8, grid=(3,)
@triton.jit
def rows_added_back(x, a, N: tl.constexpr):
    """What is stored first is read back by rows, in a sum whose derivative needs none of it."""
    i = tl.arange(0, N)
    at = tl.program_id(0) * N * N + i[:, None] * N + i[None, :]
    tile = tl.load(x + at)
    tl.store(a + at, tile * tile)
    tl.debug_barrier()
    total = tile
    for row in range(1, N):
        line = tl.load(a + tl.program_id(0) * N * N + row * N + i)
        total += line[None, :]
    tl.store(a + at, total)


# tad: x=f32[32], y=f32[32], BLOCK=8, grid=(2,)
@triton.jit
def reads_what_others_store(x, y, BLOCK: tl.constexpr):
    p = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    tl.store(y + p * BLOCK + i, tl.load(x + p * BLOCK + i) * 2.0)
    before = tl.load(y + (p + 2) * BLOCK + i)
    tl.store(y + (p + 2) * BLOCK + i, before + tl.load(y + (p + 1) * BLOCK + i))


# tad: n=13, x=f32[n], y=f32[n], BLOCK=8, grid=(2,)
@triton.jit
def negative_square(x, y, n, BLOCK: tl.constexpr):
    """Its gradient is a doubled product with a sign, which becomes one constant."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0.0)
    tl.store(y + i, -(v * v), mask=i < n)


# tad: n=13, x=f32[n], w=f32[n], y=f32[2], BLOCK=8, grid=(2,)
@triton.jit
def counts_down(x, w, y, n, BLOCK: tl.constexpr):
    """The loop counts what is left, and moves a pointer along."""
    i = tl.arange(0, BLOCK)
    at = x + i
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for left in range(n, 0, -BLOCK):
        a = tl.load(at, mask=i < left, other=0.0)
        total += a * tl.load(w + (n - left) + i, mask=i < left, other=0.0)
        at += BLOCK
    tl.store(y + tl.program_id(0), tl.sum(total) * tl.program_id(0))


# tad: n=13, x=f32[n], y=f32[2], BLOCK=4, grid=(2,)
@triton.jit
def last_block(x, y, n, BLOCK: tl.constexpr):
    """Whole blocks in a loop, and behind it what is left."""
    i = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for block in range(n // BLOCK):
        a = tl.load(x + block * BLOCK + i)
        total += a * a
    rest = n // BLOCK * BLOCK + i
    a = tl.load(x + rest, mask=rest < n, other=0.0)
    total += a * a
    tl.store(y + tl.program_id(0), tl.sum(total) * tl.program_id(0))


# tad: n=13, x=f32[n], y=f32[2], BLOCK=4, EVEN=False, grid=(2,)
@triton.jit
def last_block_of_uneven(x, y, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    """The flag decides how many blocks are whole, and whether something is left."""
    i = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    blocks = tl.cdiv(n, BLOCK)
    if not EVEN:
        blocks -= 1
    for block in range(blocks):
        a = tl.load(x + block * BLOCK + i)
        total += tl.sin(a)
    if not EVEN:
        rest = blocks * BLOCK + i
        a = tl.load(x + rest, mask=rest < n, other=0.0)
        total += tl.sin(a)
    tl.store(y + tl.program_id(0), tl.sum(total) * tl.program_id(0))


@triton.jit
def online_softmax(x, w, y, lse, n, BLOCK: tl.constexpr):
    """The maximum and the sum of a row are not found again: their log-sum-exp and the mean under them are stored."""
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    largest = -float("inf")
    total = 0.0
    mean = 0.0
    for start in range(0, n, BLOCK):
        inside = start + i < n
        a = tl.load(x + row * n + start + i, mask=inside, other=-float("inf"))
        b = tl.load(w + row * n + start + i, mask=inside, other=0.0)
        larger = tl.maximum(largest, tl.max(a, axis=0))
        keep = tl.exp(largest - larger)
        p = tl.exp(a - larger)
        total = total * keep + tl.sum(p, axis=0)
        mean = mean * keep + tl.sum(p * b, axis=0)
        largest = larger
    tl.store(y + row, mean / total)
    tl.store(lse + row, largest + tl.log(total))


def run_online_softmax(x, w):
    rows, n = x.shape
    y = torch.empty(rows, device=x.device, dtype=torch.float32)
    lse = torch.empty(rows, device=x.device, dtype=torch.float32)
    online_softmax[(rows,)](x, w, y, lse, n, BLOCK=8)
    return y, lse


@triton.jit
def residual_norm(x, r, y, s, n, BLOCK: tl.constexpr):
    """What it normalises is a sum, which it stores as well: its terms are not loaded again."""
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    a = tl.load(x + row * n + i, mask=i < n, other=0.0)
    b = tl.load(r + row * n + i, mask=i < n, other=0.0)
    total = a + b
    tl.store(s + row * n + i, total, mask=i < n)
    tl.store(y + row * n + i, total * tl.sum(total * total, axis=0), mask=i < n)


def run_residual_norm(x, r):
    rows, n = x.shape
    y = torch.empty_like(x)
    s = torch.empty_like(x)
    residual_norm[(rows,)](x, r, y, s, n, BLOCK=16)
    return y, s


@triton.jit
def carried_logarithm(x, y, n, BLOCK: tl.constexpr):
    """What the maximum scales is a sum, of which the loop carries the logarithm."""
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    largest = -float("inf")
    lse = -float("inf")
    mean = 0.0
    for start in range(0, n, BLOCK):
        inside = start + i < n
        a = tl.load(x + row * n + start + i, mask=inside, other=-float("inf"))
        larger = tl.maximum(lse, tl.max(a, axis=0))
        p = tl.exp(a - larger)
        mean = mean * tl.exp(largest - larger) + tl.sum(tl.where(inside, p * a, 0.0), axis=0)
        lse = larger + tl.log(tl.exp(lse - larger) + tl.sum(p, axis=0))
        largest = larger
    tl.store(y + row, mean * tl.exp(largest - lse))


def run_carried_logarithm(x):
    rows, n = x.shape
    y = torch.empty(rows, device=x.device, dtype=torch.float32)
    carried_logarithm[(rows,)](x, y, n, BLOCK=8)
    return y


# tad: x=f32[24, 16], w=f32[16, 16], y=f32[24, 16], m=24, N=16, K=16, BLOCK=8, grid=(1,)
@triton.jit
def weights_across(x, w, y, m, N: tl.constexpr, K: tl.constexpr, BLOCK: tl.constexpr):
    """The weights are loaded transposed, and their gradient is summed as they lie in memory."""
    k = tl.arange(0, K)
    n = tl.arange(0, N)
    weights = tl.load(w + n[None, :] * K + k[:, None])
    for start in range(0, m, BLOCK):
        rows = start + tl.arange(0, BLOCK)
        inputs = tl.load(x + rows[:, None] * K + k[None, :], mask=rows[:, None] < m, other=0.0)
        outputs = tl.dot(inputs, weights, input_precision="ieee")
        tl.store(y + rows[:, None] * N + n[None, :], outputs * outputs, mask=rows[:, None] < m)


# tad: x=f32[2, 3, 8], w=f32[3], y=f32[2, 3, 8], n=48, size=8, count=3, B=8, grid=(6,)
@triton.jit
def runs_of_a_weight(x, w, y, n, size, count, B: tl.constexpr):
    """Each tile is of one element of `w`."""
    at = tl.program_id(0) * B + tl.arange(0, B)
    s = tl.load(w + at // size % count, mask=at < n, other=0.0)
    tl.store(y + at, tl.load(x + at, mask=at < n, other=0.0) * s * s, mask=at < n)


# tad: x=f32[10, 5], y=f32[10, 5], T=5, BLOCK=8, grid=(10,)
@triton.jit
def rows_cut_further(x, y, T, BLOCK: tl.constexpr):
    """The mask says where a row ends, and which of its elements count."""
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    keep = (cols < T) & (cols <= row % T)
    v = tl.load(x + row * T + cols, mask=keep, other=0.0)
    tl.store(y + row * T + cols, tl.sin(v) * v, mask=cols < T)


# tad: q=f32[8, 16], k=f32[24, 16], lse=f32[8], slope=f32[8], y=f32[8], n=21, D=16, B=8, grid=(1,)
@triton.jit
def exponentials_of_products(q, k, lse, slope, y, n, D: tl.constexpr, B: tl.constexpr):
    """Scores with a scale, a slope for each row and two masks; the logarithm of their sum is there already."""
    r = tl.arange(0, B)
    d = tl.arange(0, D)
    rows = tl.load(q + r[:, None] * D + d[None, :])
    logarithm = tl.load(lse + r)
    total = tl.zeros([B], tl.float32)
    for start in range(0, n, B):
        c = start + r
        columns = tl.load(k + c[None, :] * D + d[:, None], mask=c[None, :] < n, other=0.0)
        score = tl.dot(rows, columns, input_precision="ieee") * 0.3
        score = tl.where(r[:, None] * 3 >= c[None, :], score, -1e30)
        score = tl.where(c[None, :] < n, score, -float("inf"))
        p = tl.exp(score - logarithm[:, None])
        total += tl.sum(p, axis=1)
    tl.store(y + r, total)


# tad: q=f32[8, 16], k=f32[24, 16], v=f32[24, 16], y=f32[8, 16], n=21, D=16, B=8, grid=(1,)
@triton.jit
def values_of_neighbours(q, k, v, y, n, D: tl.constexpr, B: tl.constexpr):
    """Who is near has no derivative: the backward uses nothing but the transposes of the weights."""
    r = tl.arange(0, B)
    d = tl.arange(0, D)
    rows = tl.load(q + r[:, None] * D + d[None, :])
    sums = tl.zeros([B, D], tl.float32)
    for start in range(0, n, B):
        c = start + r
        inside = c[:, None] < n
        columns = tl.load(k + c[:, None] * D + d[None, :], mask=inside, other=0.0)
        score = tl.dot(rows, tl.trans(columns), input_precision="ieee")
        weight = tl.where((score > 0.5) & (c[None, :] < n), 0.75, 0.0)
        values = tl.load(v + c[:, None] * D + d[None, :], mask=inside, other=0.0)
        sums += tl.dot(weight, values, input_precision="ieee")
    tl.store(y + r[:, None] * D + d[None, :], sums)


@triton.jit
def chosen_by_lanes(q_ptr, a_ptr, b_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    q = tl.load(q_ptr + i, mask=i < n, other=0.0)
    rows = tl.where((q > 0.5)[:, None], (a_ptr + i)[:, None], (b_ptr + n - 1 - i)[:, None])
    chosen = tl.sum(tl.load(rows, mask=(i < n)[:, None], other=0.0), axis=1)
    tl.store(tl.where(q > 0.25, y_ptr + i, y_ptr + n + i), chosen * q, mask=i < n)


def run_chosen_by_lanes(q, a, b):
    y = torch.zeros(2 * q.numel(), dtype=q.dtype, device=q.device)
    chosen_by_lanes[(triton.cdiv(q.numel(), 8),)](q, a, b, y, q.numel(), BLOCK=8)
    return y


# tad: x=f32[3, 21], w=f32[21], y=f32[3, 21], n=21, eps=0.5, B=8, grid=(3,)
@triton.jit
def rows_in_three_loops(x, w, y, n, eps, B: tl.constexpr):
    """The variance's derivative is known behind the last loop alone, and is a factor in the one before."""
    row = tl.program_id(0)
    c = tl.arange(0, B)
    total = 0.0
    for start in range(0, n, B):
        at = start + c
        total += tl.sum(tl.load(x + row * n + at, mask=at < n, other=0.0))
    mean = total / n
    squares = 0.0
    for start in range(0, n, B):
        at = start + c
        v = tl.load(x + row * n + at, mask=at < n, other=0.0)
        d = tl.where(at < n, v - mean, 0.0)
        squares += tl.sum(d * d)
    scale = 1 / tl.sqrt(squares / n + eps)
    for start in range(0, n, B):
        at = start + c
        v = tl.load(x + row * n + at, mask=at < n, other=0.0)
        u = tl.load(w + at, mask=at < n, other=0.0)
        tl.store(y + row * n + at, (v - mean) * scale * u, mask=at < n)


@triton.jit
def largest_of_windows(x, y, H, W, OH, OW, n, K: tl.constexpr, S: tl.constexpr, B: tl.constexpr):
    """The place of the largest element is found with it, and tells which tap has the gradient."""
    i = tl.program_id(0) * B + tl.arange(0, B)
    column = i % OW
    row = i // OW % OH
    plane = i // (OW * OH)
    best = tl.full([B], -float("inf"), tl.float32)
    for kh in tl.static_range(K):
        for kw in tl.static_range(K):
            h, w = row * S + kh, column * S + kw
            ok = (i < n) & (h < H) & (w < W)
            v = tl.load(x + (plane * H + h) * W + w, mask=ok, other=-float("inf"))
            best = tl.maximum(best, v)
    tl.store(y + i, best, mask=i < n)


def run_largest_of_windows(x):
    N, H, W = x.shape
    OH, OW = (H - 3) // 2 + 1, (W - 3) // 2 + 1
    y = torch.empty(N, OH, OW, dtype=x.dtype, device=x.device)
    n = y.numel()
    largest_of_windows[(triton.cdiv(n, 8),)](x, y, H, W, OH, OW, n, K=3, S=2, B=8)
    return y


@triton.jit
def or_the_state(x_ptr, s_ptr, y_ptr, T, C, BLOCK: tl.constexpr):
    """The row before, or a state in front of the first one: both are loaded, each under its side of the condition."""
    row = tl.program_id(0)
    t = row % T
    c = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * C + c, mask=c < C, other=0.0)
    if t == 0:
        last = tl.load(s_ptr + row // T * C + c, mask=c < C, other=0.0)
    else:
        last = tl.load(x_ptr + (row - 1) * C + c, mask=c < C, other=0.0)
    tl.store(y_ptr + row * C + c, x * tl.sin(last), mask=c < C)


def run_or_the_state(x, s):
    B, T, C = x.shape
    y = torch.empty_like(x)
    or_the_state[(B * T,)](x, s, y, T, C, BLOCK=triton.next_power_of_2(C))
    return y


@triton.jit
def taken_for_floats(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    """Nobody says what the tensors hold, and the kernel takes them for one type in all that it does."""
    x_ptr = x_ptr.to(tl.pointer_type(tl.float32))
    y_ptr = y_ptr.to(tl.pointer_type(tl.float32))
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0.0)
    tl.store(y_ptr + at, x * tl.sin(x), mask=at < n)


def run_taken_for_floats(x):
    y = torch.empty_like(x)
    taken_for_floats[(triton.cdiv(x.numel(), 8),)](x, y, x.numel(), BLOCK=8)
    return y


@triton.jit
def beside_the_newer(x_ptr, y_ptr, T, N, B: tl.constexpr):
    """An iteration hands on what it has loaded: memory has that state, and no tape is filled."""
    i = tl.program_id(0) * B + tl.arange(0, B)
    newer = tl.zeros([B], dtype=tl.float32) + 0.5
    for t in range(T):
        x = tl.load(x_ptr + t * N + i, mask=i < N, other=0.0)
        tl.store(y_ptr + t * N + i, newer * newer * x, mask=i < N)
        newer = x


def run_beside_the_newer(x):
    T, N = x.shape
    y = torch.empty_like(x)
    beside_the_newer[(triton.cdiv(N, 4),)](x, y, T, N, B=4)
    return y


@triton.jit
def with_a_first_element(x_ptr, y_ptr, T, W, n, K: tl.constexpr, B: tl.constexpr):
    """The first element of a window is loaded in front of the loop over the others."""
    o = tl.program_id(0) * B + tl.arange(0, B)
    p = x_ptr + o // W * T + o % W * 2
    best = tl.load(p, mask=o < n, other=-float("inf"))
    for k in tl.static_range(1, K):
        best = tl.maximum(best, tl.load(p + k, mask=o < n, other=-float("inf")))
    tl.store(y_ptr + o, best, mask=o < n)


def run_with_a_first_element(x):
    N, T = x.shape
    W = (T - 3) // 2 + 1
    y = torch.empty(N, W, dtype=x.dtype, device=x.device)
    with_a_first_element[(triton.cdiv(N * W, 8),)](x, y, T, W, N * W, K=3, B=8)
    return y


# tad: x=f32[5, 12], y=f32[5, 12], N=12, BLOCK=4, grid=(5,)
@triton.jit
def counted_by_while(x, y, N, BLOCK: tl.constexpr):
    """One `while` counts up to the end, one down to the first; a sum is handed from one to the other."""
    row = tl.program_id(0)
    total = tl.zeros([BLOCK], tl.float32)
    at = 0
    while at < N:
        i = at + tl.arange(0, BLOCK)
        total += tl.load(x + row * N + i, mask=i < N, other=0.0)
        at += BLOCK
    left = N - 1
    while left >= 0:
        tl.store(y + row * N + left, tl.sin(tl.load(x + row * N + left)) * tl.sum(total))
        left -= 1
