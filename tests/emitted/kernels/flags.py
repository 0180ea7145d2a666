"""Constexpr flags that decide shapes, types and strides; pointers that a loop moves under a condition."""

import triton
import triton.language as tl


@triton.jit
def outer_state(x, y, out, n, d, TRANSPOSED: tl.constexpr, BX: tl.constexpr, BY: tl.constexpr):
    """The state is [BX, BY] or [BY, BX], as the flag says."""
    row = tl.program_id(0)
    i = tl.arange(0, BX)
    j = tl.arange(0, BY)
    if TRANSPOSED:
        h = tl.zeros([BY, BX], dtype=tl.float32)
    else:
        h = tl.zeros([BX, BY], dtype=tl.float32)
    for t in range(n):
        a = tl.load(x + (row * n + t) * d + i, mask=i < d, other=0.0)
        b = tl.load(y + (row * n + t) * BY + j)
        if TRANSPOSED:
            h = h * 0.5 + b[:, None] * a[None, :]
            o = tl.sum(h * a[None, :], axis=1)
        else:
            h = h * 0.5 + a[:, None] * b[None, :]
            o = tl.sum(h * a[:, None], axis=0)
        tl.store(out + (row * n + t) * BY + j, o)


# tad: n=3, d=6, x=f32[2, n, d], y=f32[2, n, 4], out=f32[2, n, 4], TRANSPOSED=True, BX=8, BY=4, grid=(2,)
@triton.jit
def state_transposed(x, y, out, n, d, TRANSPOSED: tl.constexpr, BX: tl.constexpr, BY: tl.constexpr):
    outer_state(x, y, out, n, d, TRANSPOSED, BX, BY)


# tad: n=3, d=6, x=f32[2, n, d], y=f32[2, n, 4], out=f32[2, n, 4], TRANSPOSED=False, BX=8, BY=4, grid=(2,)
@triton.jit
def state_as_it_is(x, y, out, n, d, TRANSPOSED: tl.constexpr, BX: tl.constexpr, BY: tl.constexpr):
    outer_state(x, y, out, n, d, TRANSPOSED, BX, BY)


# tad: n=37, x=f32[2, n], g=f32[2, n], out=f32[2, n], USE_G=True, REVERSE=True, BLOCK=16, grid=(2,)
@triton.jit
def moved_under_a_flag(
    x, g, out, n, USE_G: tl.constexpr, REVERSE: tl.constexpr, BLOCK: tl.constexpr
):
    """One pointer moves only where the flag says so."""
    row = tl.program_id(0) * n
    lanes = tl.arange(0, BLOCK)
    p_x = x + row + lanes
    p_out = out + row + lanes
    if USE_G:
        p_g = g + row + lanes
    for start in range(0, n, BLOCK):
        a = tl.load(p_x, mask=start + lanes < n, other=0.0)
        if USE_G:
            a = a * tl.exp(tl.load(p_g, mask=start + lanes < n, other=0.0))
        tl.store(p_out, a * a, mask=start + lanes < n)
        p_x += BLOCK
        p_out += BLOCK
        if USE_G:
            p_g += BLOCK


# tad: n=16, x=f32[n, 8], out=f32[8], STEP=True, BLOCK=8, grid=(1,)
@triton.jit
def moved_or_not(x, out, n, STEP: tl.constexpr, BLOCK: tl.constexpr):
    """Without the flag every turn reads the same row."""
    lanes = tl.arange(0, BLOCK)
    p_x = x + lanes
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for i in range(n):
        a = tl.load(p_x)
        total += a * a * (i + 1.0)
        if STEP:
            p_x += BLOCK
    tl.store(out + lanes, total)


# tad: n=12, x=f32[n, 8], jump=i32[n], out=f32[8], BLOCK=8, grid=(1,)
@triton.jit
def moved_by_data(x, jump, out, n, BLOCK: tl.constexpr):
    """The pointer moves under a condition that the data decides."""
    lanes = tl.arange(0, BLOCK)
    p_x = x + lanes
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for i in range(n):
        a = tl.load(p_x)
        total += a * a * (i + 1.0)
        if tl.load(jump + i) > 1:
            p_x += BLOCK
    tl.store(out + lanes, total)


# tad: T=5, V=11, x_ptr=f32[T, V], rate_ptr=f32[T, V], y_ptr=f32[T, V], ONE_RATE=True, BLOCK=16, K=4, grid=(1,)
@triton.jit
def one_rate_or_many(
    x_ptr, rate_ptr, y_ptr, T, V, ONE_RATE: tl.constexpr, BLOCK: tl.constexpr, K: tl.constexpr
):
    """One address or a tile of them: what is loaded has another shape, and only one of them fits what follows."""
    lanes = tl.arange(0, BLOCK)
    mask = lanes < V
    if ONE_RATE:
        rates = rate_ptr
    else:
        rates = rate_ptr + lanes
    state = tl.zeros([K], tl.float32)
    for t in range(T):
        x = tl.load(x_ptr + t * V + lanes, mask=mask, other=0.0)
        if ONE_RATE:
            rate = tl.load(rates)
        else:
            rate = tl.sum(tl.load(rates, mask=mask, other=0.0), 0)
        state = rate * (state + tl.sum(x, 0))
        tl.store(y_ptr + t * V + lanes, x * tl.sum(state * state, 0), mask=mask)
        rates += V


# tad: n=24, x_ptr=f32[n], w_ptr=f32[n], y_ptr=f32[6], MODE=1, BLOCK=8, grid=(1,)
@triton.jit
def three_shapes(x_ptr, w_ptr, y_ptr, n, MODE: tl.constexpr, BLOCK: tl.constexpr):
    """Three arms leave three shapes inside a loop, and what follows in its body is reached from each."""
    lanes = tl.arange(0, BLOCK)
    total = 0.0
    for start in range(0, n, BLOCK):
        x = tl.load(x_ptr + start + lanes)
        if MODE == 0:
            w = tl.load(w_ptr + start + lanes)
        elif MODE == 1:
            w = tl.reshape(tl.load(w_ptr + start + lanes), [BLOCK // 4, 4])
            x = tl.reshape(x, [BLOCK // 4, 4])
        else:
            w = tl.load(w_ptr + start + lanes)[:, None] * tl.full([1, 2], 0.5, tl.float32)
            x = x[:, None]
        total += tl.sum(w * x * x)
    tl.store(y_ptr, total)


# tad: n=20, x_ptr=f32[n], code_ptr=i32[n], y_ptr=f32[n], BLOCK=16, grid=(2,)
@triton.jit
def cast_pointer(x_ptr, code_ptr, y_ptr, n, BLOCK: tl.constexpr):
    """Numbers that are read as another type than the tensor's."""
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    codes = code_ptr.to(tl.pointer_type(tl.uint32))
    code = tl.load(codes + offsets, mask=mask, other=0)
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0)
    tl.store(y_ptr + offsets, x * x * (code & 3).to(tl.float32), mask=mask)


# tad: x=f32[8, 16], scales=f32[8, 16], out=f32[8, 16], M=8, N=16, PER_ROW=True, grid=(1,)
# tad: x=f32[8, 16], scales=f32[8, 16], out=f32[8, 16], M=8, N=16, PER_ROW=False, grid=(1,)
@triton.jit
def scales_of_rows_or_elements(
    x, scales, out, M: tl.constexpr, N: tl.constexpr, PER_ROW: tl.constexpr
):
    i = tl.arange(0, M)[:, None]
    at = i * N + tl.arange(0, N)[None, :]
    a = tl.load(x + at)
    if PER_ROW:
        scale = tl.load(scales + i)
    else:
        scale = tl.load(scales + at)
    tl.store(out + at, a * a * tl.exp(scale))


@triton.jit
def biased_sums(
    x, k, bias, out, n, d, BIAS: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BD: tl.constexpr
):
    """A word says whether there is a bias and which shape it has: with another word, Triton finds no `term`."""
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    lanes = tl.arange(0, BN)
    depth = tl.arange(0, BD)
    q = tl.load(x + rows[:, None] * d + depth[None, :], mask=depth[None, :] < d, other=0.0)
    if BIAS == "row":
        p_bias = bias + lanes
    elif BIAS == "matrix":
        p_bias = bias + rows[:, None] * n + lanes[None, :]
    total = tl.zeros([BM], dtype=tl.float32)
    for start in range(0, n, BN):
        places = (start + lanes)[:, None] * d + depth[None, :]
        inside = (start + lanes)[:, None] < n
        b = tl.load(k + places, mask=inside & (depth[None, :] < d), other=0.0)
        s = tl.dot(q, tl.trans(b))
        if BIAS != "none":
            if BIAS == "row":
                term = tl.load(p_bias + start, mask=start + lanes < n, other=0.0)
                term = term[None, :]
            elif BIAS == "matrix":
                term = tl.load(p_bias + start, mask=(start + lanes)[None, :] < n, other=0.0)
            s = s * 0.5 + term
            total += tl.sum(tl.where((start + lanes)[None, :] < n, tl.exp(s), 0.0), axis=1)
        else:
            total += tl.sum(tl.where((start + lanes)[None, :] < n, tl.exp(s * 0.5), 0.0), axis=1)
    tl.store(out + rows, tl.log(total))


# tad: n=20, d=5, x=f32[32, d], k=f32[n, d], bias=f32[n], out=f32[32], BIAS="row", BM=16, BN=16, BD=16, grid=(2,)
@triton.jit
def bias_of_a_row(
    x, k, bias, out, n, d, BIAS: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BD: tl.constexpr
):
    biased_sums(x, k, bias, out, n, d, BIAS, BM, BN, BD)


# tad: n=20, d=5, x=f32[32, d], k=f32[n, d], bias=f32[32, n], out=f32[32], BIAS="matrix", BM=16, BN=16, BD=16, grid=(2,)
@triton.jit
def bias_of_a_matrix(
    x, k, bias, out, n, d, BIAS: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BD: tl.constexpr
):
    biased_sums(x, k, bias, out, n, d, BIAS, BM, BN, BD)


# tad: n=20, d=5, x=f32[32, d], k=f32[n, d], out=f32[32], bias=None, BIAS="none", BM=16, BN=16, BD=16, grid=(2,)
@triton.jit
def bias_of_nothing(
    x, k, bias, out, n, d, BIAS: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BD: tl.constexpr
):
    biased_sums(x, k, bias, out, n, d, BIAS, BM, BN, BD)


@triton.jit
def way_of_a_scan(x, out, n, FORWARD: tl.constexpr, N: tl.constexpr):
    """The flag says from which end the products are taken."""
    row = tl.program_id(0)
    j = tl.arange(0, N)
    a = tl.load(x + row * n + j, mask=j < n, other=1.0)
    tl.store(out + row * n + j, tl.cumprod(a, 0, reverse=not FORWARD), mask=j < n)


# tad: n=13, x=f32[3, n], out=f32[3, n], FORWARD=True, N=16, grid=(3,)
@triton.jit
def products_forward(x, out, n, FORWARD: tl.constexpr, N: tl.constexpr):
    way_of_a_scan(x, out, n, FORWARD, N)


# tad: n=13, x=f32[3, n], out=f32[3, n], FORWARD=False, N=16, grid=(3,)
@triton.jit
def products_backward(x, out, n, FORWARD: tl.constexpr, N: tl.constexpr):
    way_of_a_scan(x, out, n, FORWARD, N)


# tad: x=f32[3, 16], out=f32[3, 16], DOWN=True, N=16, grid=(3,)
@triton.jit
def order_of_a_sort(x, out, DOWN: tl.constexpr, N: tl.constexpr):
    """The flag says which end comes first."""
    row = tl.program_id(0)
    j = tl.arange(0, N)
    a = tl.load(x + row * N + j)
    tl.store(out + row * N + j, tl.sort(a, descending=DOWN) * a)


# tad: x=f32[4, 16], out=f32[4, 16], KEEP=True, M=4, N=16, grid=(1,)
@triton.jit
def rank_of_a_sum(x, out, KEEP: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    """The flag says whether the summed axis stays."""
    places = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    a = tl.load(x + places)
    total = tl.sum(a * a, 1, keep_dims=KEEP)
    if not KEEP:
        total = total[:, None]
    tl.store(out + places, a * total)


@triton.jit
def places(X, Y=None):
    """Two numbers of one, or three."""
    number = tl.program_id(0)
    if Y is None:
        return number % X, number // X
    else:
        return number % X, (number // X) % Y, number // (X * Y)


# tad: n=2, m=3, x=f32[4, m, n, 8], out=f32[4, m, n, 8], B=8, grid=(24,)
@triton.jit
def numbers_of_a_place(x, out, n, m, B: tl.constexpr):
    """The names on the left say which arm of the helper it is."""
    i, j, k = places(n, m)
    lanes = ((k * m + j) * n + i) * B + tl.arange(0, B)
    tl.store(out + lanes, tl.sin(tl.load(x + lanes)))


# tad: m=16, k=32, a=f32[m, k], b=f32[m], out=f32[m], EVEN_M=True, EVEN_K=True, BM=16, BK=16, grid=(1,)
# tad: m=13, k=32, a=f32[m, k], b=f32[m], out=f32[m], EVEN_M=False, EVEN_K=True, BM=16, BK=16, grid=(1,)
# tad: m=13, k=27, a=f32[m, k], b=f32[m], out=f32[m], EVEN_M=False, EVEN_K=False, BM=16, BK=16, grid=(1,)
@triton.jit
def no_mask_or_a_column(
    a, b, out, m, k, EVEN_M: tl.constexpr, EVEN_K: tl.constexpr, BM: tl.constexpr, BK: tl.constexpr
):
    i = tl.program_id(0) * BM + tl.arange(0, BM)
    total = tl.zeros((BM,), dtype=tl.float32)
    for start in range(0, k, BK):
        j = start + tl.arange(0, BK)
        if EVEN_K:
            if EVEN_M:
                mask = None
            else:
                mask = (i < m)[:, None]
        else:
            if EVEN_M:
                mask = (j < k)[None, :]
            else:
                mask = (i < m)[:, None] & (j < k)[None, :]
        x = tl.load(a + i[:, None] * k + j[None, :], mask=mask)
        total += tl.sum(tl.where(j[None, :] < k, x * x, 0.0), 1)
    tl.store(out + i, total * tl.load(b + i, mask=i < m), mask=i < m)


# tad: x=f32[8], y=f32[8], TURNS_OF_A_LONG_NAME=4, N=8, grid=(1,)
@triton.jit
def kept_by_unrolled_turns(x, y, TURNS_OF_A_LONG_NAME: tl.constexpr, N: tl.constexpr):
    """What a turn keeps is decided by a condition of constexprs, which is too long for one place and has no name."""
    j = tl.arange(0, N)
    start = tl.load(x + j)
    total = start
    for turn in tl.static_range(TURNS_OF_A_LONG_NAME - 1, 0, -1):
        state = start
        kept = start
        for step in tl.static_range(1, TURNS_OF_A_LONG_NAME):
            state = state * 0.5 + tl.sin(state)
            if step == turn:
                kept = state
        total = total * kept + start
    tl.store(y + j, total)
