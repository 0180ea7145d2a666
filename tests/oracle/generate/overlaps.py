"""Programs, iterations and lanes that store over each other's elements: for some sizes and flags, not for others."""

from __future__ import annotations

from collections.abc import Callable

from tests.oracle.case import Input
from tests.oracle.generate.kit import expression, unary
from tests.oracle.generate.maker import Maker


def overlaps(m: Maker) -> None:
    """One of the forms below."""
    FORMS[m.seed % len(FORMS)](m)


def hop_name(m: Maker) -> str:
    return m.pick("hop", "step", "stride", "row_step", "ld", "advance")


def at_row(m: Maker, pointer: str, step: str, program: str = "p", lane: str = "i") -> str:
    """The address of a row, in one of the ways that people write it."""
    return m.pick(
        f"{pointer} + {program} * {step} + {lane}",
        f"({pointer} + {program} * {step}) + {lane}",
        f"{pointer} + ({program} * {step} + {lane})",
        f"{pointer} + {lane} + {step} * {program}",
    )


def row_kernel(m: Maker, hop: str, masked: bool = True) -> str:
    """A program a row of `n` elements, stored `hop` elements apart; its name. Arguments: o, x, n, hop, BLOCK."""
    name = m.file.names.fresh(("frames", "rows_apart", "overlap", "put_rows"))
    mask = ", mask=i < n" if masked else ""
    m.file.add(
        f"""
@triton.jit
def {name}(o, x, n, {hop}, BLOCK: tl.constexpr):
    p = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    a = tl.load(x + p * n + i{", mask=i < n, other=0.0" if masked else ""})
    tl.store({at_row(m, "o", hop)}, {unary(m.random, "a")}{mask})
"""
    )
    return name


def given_hop(m: Maker) -> None:
    """The caller says how far apart rows are."""
    hop = hop_name(m)
    masked = m.chance(0.6)
    name = row_kernel(m, hop, masked)
    n = 6 if masked else 8
    size = f"(rows - 1) * {hop} + n"
    made = m.pick(f"torch.zeros({size}, dtype=x.dtype)", f"x.new_zeros({size})")
    m.function(
        f"x, {hop}" + m.pick("", "=2"),
        f"rows, n = x.shape\no = {made}\n{name}[(rows,)](o, x, n, {hop}, BLOCK=8)\nreturn o",
    )
    for step in (n, n + 1, m.pick(1, 2, 3, n - 1), 0):
        m.call(f"m.{m.launcher}(x, {step})", {"x": [3, n]}, expect="right" if step >= n else "")


def halved_hop(m: Maker) -> None:
    """The launcher makes the hop of the length."""
    hop = hop_name(m)
    name = row_kernel(m, hop, m.chance(0.7))
    made = m.pick("n // 2", "n - 1", "max(n // 4, 1)", "n // 2 + 1", "n - n // 4", "1")
    m.function(
        "x",
        f"rows, n = x.shape\n{hop} = {made}\n"
        f"o = torch.zeros((rows - 1) * {hop} + n, dtype=x.dtype)\n"
        f"{name}[(rows,)](o, x, n, {hop}, BLOCK={m.pick('8', 'triton.next_power_of_2(n)')})\n"
        "return o",
    )
    m.call(f"m.{m.launcher}(x)", {"x": [3, 8]})


def flagged_hop(m: Maker) -> None:
    """A flag of the launcher chooses between rows beside each other and frames that overlap."""
    hop = hop_name(m)
    name = row_kernel(m, hop)
    made = m.pick(
        f"{hop} = n // 2 if overlap else n",
        f"{hop} = n\nif overlap:\n    {hop} = n // 2",
        f"{hop} = n // (2 if overlap else 1)",
        f"{hop} = [n, n // 2][int(overlap)]",
    )
    m.function(
        "x, overlap=False",
        f"rows, n = x.shape\n{made}\n"
        f"o = torch.zeros(rows * n, dtype=x.dtype)\n"
        f"{name}[(rows,)](o, x, n, {hop}, BLOCK=8)\nreturn o",
    )
    m.call(f"m.{m.launcher}(x)", {"x": [3, 6]})
    m.call(f"m.{m.launcher}(x, overlap=True)", {"x": [3, 6]})


def statistic(m: Maker) -> None:
    """A number for each row, a step apart that may be 0."""
    step = m.pick("ss", "stat_step", "s_stride", "stride_m")
    name = m.file.names.fresh(("with_stat", "norm_rows", "row_lse"))
    place = m.pick(f"s + p * {step}", f"s + {step} * p", f"(s + p * {step})")
    total = m.pick("tl.sum(a * a, axis=0)", "tl.sum(tl.exp(a) * (i < n), axis=0)")
    m.file.add(
        f"""
@triton.jit
def {name}(y, s, x, n, {step}, BLOCK: tl.constexpr):
    p = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    a = tl.load(x + p * n + i, mask=i < n, other=0.0)
    t = {total}
    tl.store({place}, {m.pick("t", "tl.log(t + 1.0)", "1.0 / (t + 1.0)")})
    tl.store(y + p * n + i, {unary(m.random, "a")}, mask=i < n)
"""
    )
    way = m.random.randrange(3)
    if way == 0:
        m.function(
            f"x, {step}",
            f"rows, n = x.shape\ny = {m.output('x')}\n"
            f"s = torch.zeros(max(rows * {step}, 1), dtype=x.dtype)\n"
            f"{name}[(rows,)](y, s, x, n, {step}, BLOCK=8)\nreturn y, s",
        )
        m.call(f"m.{m.launcher}(x, 1)", {"x": [3, 6]}, expect="right")
        m.call(f"m.{m.launcher}(x, 2)", {"x": [3, 6]})
        m.call(f"m.{m.launcher}(x, 0)", {"x": [3, 6]})
        return
    if way == 1:
        m.function(
            "x, shared=False",
            f"rows, n = x.shape\ny = {m.output('x')}\n"
            "s = torch.zeros(1 if shared else rows, dtype=x.dtype)\n"
            f"{name}[(rows,)](y, s, x, n, {m.pick('0 if shared else 1', 'int(not shared)')}, BLOCK=8)\n"
            "return y, s",
        )
        m.call(f"m.{m.launcher}(x)", {"x": [3, 6]})
        m.call(f"m.{m.launcher}(x, shared=True)", {"x": [3, 6]})
        return
    m.function(
        "x, s",
        f"rows, n = x.shape\ny = {m.output('x')}\n"
        f"{name}[(rows,)](y, s, x, n, s.stride(0), BLOCK=8)\nreturn y, s",
    )
    m.call(f"m.{m.launcher}(x, torch.zeros(3, dtype=x.dtype))", {"x": [3, 6]})
    m.call(f"m.{m.launcher}(x, torch.zeros(6, dtype=x.dtype)[::2])", {"x": [3, 6]})
    m.call(f"m.{m.launcher}(x, torch.zeros(1, dtype=x.dtype).expand(3))", {"x": [3, 6]})


def given_output(m: Maker) -> None:
    """The caller passes the output, whose rows may share memory."""
    k = m.strided(m.pick(1, 2), 1)
    names = ["x", "w"][: len(k.inputs)]
    m.function(
        ", ".join([*names, "out"]),
        k.launch(names, ["out"], "x.shape[0]", "x.shape[1]", 8) + "\nreturn out",
    )
    given = ", ".join(names)
    for out in (
        "torch.zeros(3, 6, dtype=x.dtype)",
        "torch.zeros(3, 8, dtype=x.dtype)[:, :6]",
        f"torch.zeros(20, dtype=x.dtype).as_strided((3, 6), ({m.pick(1, 3, 5)}, 1))",
        "torch.zeros(1, 6, dtype=x.dtype).expand(3, 6)",
    ):
        m.call(f"m.{m.launcher}({given}, {out})", dict.fromkeys(names, [3, 6]))


def short_blocks(m: Maker) -> None:
    """Blocks of a vector begin closer to each other than they are long."""
    name = m.file.names.fresh(("halo", "blocks_apart", "windowed"))
    step = m.pick("STEP", "HOP", "ADVANCE")
    kind = m.pick("", ": tl.constexpr")
    value = m.pick(unary(m.random, "a"), "a * tl.sum(a, axis=0)", "a - tl.max(a, axis=0)")
    m.file.add(
        f"""
@triton.jit
def {name}(o, x, n, {step}{kind}, BLOCK: tl.constexpr):
    p = tl.program_id(0)
    i = p * {step} + tl.arange(0, BLOCK)
    a = tl.load(x + i, mask=i < n, other=0.0)
    tl.store(o + i, {value}, mask=i < n)
"""
    )
    given = m.pick("hop", "block // 2 if half else block")
    by_hop = given == "hop"
    m.function(
        "x, hop=8" if by_hop else "x, half=False, block=8",
        "n = x.numel()\no = torch.zeros_like(x)\n"
        + ("" if by_hop else f"hop = {given}\n")
        + f"{name}[(triton.cdiv(n, hop),)](o, x, n, hop, BLOCK={'8' if by_hop else 'block'})\nreturn o",
    )
    size = m.random.randint(18, 30)
    m.call(f"m.{m.launcher}(x)", {"x": [size]})
    m.call(f"m.{m.launcher}(x, {m.pick(3, 4, 7) if by_hop else True})", {"x": [size]})


def tiles(m: Maker) -> None:
    """Tiles of a matrix with strides of the caller's, or of the launcher's making."""
    sm, sn = m.pick(("sm", "sn"), ("stride_om", "stride_on"), ("ld", "inner"))
    name = m.file.names.fresh(("tile_store", "matrix_put", "blocked"))
    m.file.add(
        f"""
@triton.jit
def {name}(o, x, M, N, {sm}, {sn}, BM: tl.constexpr, BN: tl.constexpr):
    r = tl.program_id(0) * BM + tl.arange(0, BM)
    c = tl.program_id(1) * BN + tl.arange(0, BN)
    ok = (r < M)[:, None] & (c < N)[None, :]
    a = tl.load(x + r[:, None] * N + c[None, :], mask=ok, other=0.0)
    tl.store(o + r[:, None] * {sm} + c[None, :] * {sn}, {unary(m.random, "a")}, mask=ok)
"""
    )
    way = m.random.randrange(3)
    grid = "(triton.cdiv(M, 2), triton.cdiv(N, 4))"
    if way == 0:
        m.function(
            "x, row, col",
            "M, N = x.shape\no = torch.zeros(M * row + N * col + 1, dtype=x.dtype)\n"
            f"{name}[{grid}](o, x, M, N, row, col, BM=2, BN=4)\nreturn o",
        )
        for row, col in ((6, 1), (1, 5), (m.pick(2, 3, 5), 1), (6, 0), (0, 1), (2, 2), (13, 2)):
            m.call(f"m.{m.launcher}(x, {row}, {col})", {"x": [5, 6]})
        return
    if way == 1:
        m.function(
            "x, packed=False",
            "M, N = x.shape\no = torch.zeros(M * N, dtype=x.dtype)\n"
            f"row = {m.pick('N // 2', '1', 'N - 2')} if packed else N\n"
            f"{name}[{grid}](o, x, M, N, row, 1, BM=2, BN=4)\nreturn o",
        )
        m.call(f"m.{m.launcher}(x)", {"x": [5, 6]})
        m.call(f"m.{m.launcher}(x, packed=True)", {"x": [5, 6]})
        return
    m.function(
        "x",
        "M, N = x.shape\no = torch.zeros(2 * (M + N), dtype=x.dtype)\n"
        f"{name}[{grid}](o, x, M, N, {m.pick('1, 1', '1, 2', '2, 1')}, BM=2, BN=4)\nreturn o",
    )
    m.call(f"m.{m.launcher}(x)", {"x": [3, 4]})


def iterations(m: Maker) -> None:
    """A loop of one program stores rows that reach into each other."""
    hop = hop_name(m)
    name = m.file.names.fresh(("loop_rows", "steps_of", "emit_frames"))
    state = m.chance(0.5)
    body = "        h = h * 0.5 + a\n" if state else ""
    start = "    h = tl.zeros((BLOCK,), tl.float32)\n" if state else ""
    value = unary(m.random, "h" if state else "a")
    m.file.add(
        f"""
@triton.jit
def {name}(o, x, T, n, {hop}, BLOCK: tl.constexpr):
    p = tl.program_id(0)
    i = tl.arange(0, BLOCK)
{start}    for t in range(T):
        a = tl.load(x + (p * T + t) * n + i, mask=i < n, other=0.0)
{body}        tl.store(o + p * (T * n) + t * {hop} + i, {value}, mask=i < n)
"""
    )
    m.function(
        f"x, {hop}",
        "B, T, n = x.shape\no = torch.zeros(B, T * n, dtype=x.dtype)\n"
        f"{name}[(B,)](o, x, T, n, {hop}, BLOCK=8)\nreturn o",
    )
    for step in (6, m.pick(1, 2, 4, 5), 0):
        m.call(f"m.{m.launcher}(x, {step})", {"x": [2, 3, 6]}, wide=state)


def heads(m: Maker) -> None:
    """Batches and heads, each a stride apart; that of heads is one too small, or 0."""
    name = m.file.names.fresh(("per_head", "bh_fwd", "head_rows"))
    sb, sh = m.pick(("sb", "sh"), ("stride_b", "stride_h"))
    divided = m.chance(0.5)
    ids = (
        "    g = tl.program_id(0)\n    b = g // H\n    h = g % H\n"
        if divided
        else "    b = tl.program_id(0)\n    h = tl.program_id(1)\n"
    )
    m.file.add(
        f"""
@triton.jit
def {name}(o, x, H, n, {sb}, {sh}, BLOCK: tl.constexpr):
{ids}    i = tl.arange(0, BLOCK)
    a = tl.load(x + (b * H + h) * n + i, mask=i < n, other=0.0)
    tl.store({at_row(m, f"o + b * {sb}", sh, "h")}, {unary(m.random, "a")}, mask=i < n)
"""
    )
    grid = "(B * H,)" if divided else "(B, H)"
    way = m.random.randrange(2)
    if way == 0:
        m.function(
            "x, sb, sh",
            "B, H, n = x.shape\no = torch.zeros(B * H * n, dtype=x.dtype)\n"
            f"{name}[{grid}](o, x, H, n, sb, sh, BLOCK=8)\nreturn o",
        )
        for b, h in ((18, 6), (6, 12), (12, 6), (18, m.pick(2, 5)), (18, 0), (0, 6)):
            m.call(f"m.{m.launcher}(x, {b}, {h})", {"x": [2, 3, 6]})
        return
    m.function(
        "x, out",
        "B, H, n = x.shape\n"
        f"{name}[{grid}](out, x, H, n, out.stride(0), out.stride(1), BLOCK=8)\nreturn out",
    )
    for out in (
        "torch.zeros(2, 3, 6, dtype=x.dtype)",
        "torch.zeros(3, 2, 6, dtype=x.dtype).transpose(0, 1)",
        "torch.zeros(2, 1, 6, dtype=x.dtype).expand(2, 3, 6)",
        "torch.zeros(40, dtype=x.dtype).as_strided((2, 3, 6), (18, 4, 1))",
    ):
        m.call(f"m.{m.launcher}(x, {out})", {"x": [2, 3, 6]})


def lanes(m: Maker) -> None:
    """Lanes of one program share elements where a number is small."""
    name = m.file.names.fresh(("lane_put", "squeeze", "folded"))
    place = m.pick("i * s", "i // s", "i % s", "i - i % s", "(i * s) % n", "tl.minimum(i, s)")
    m.file.add(
        f"""
@triton.jit
def {name}(o, x, n, s, BLOCK: tl.constexpr):
    p = tl.program_id(0)
    i = p * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + i, mask=i < n, other=0.0)
    tl.store(o + {place}, {unary(m.random, "a")}, mask=i < n)
"""
    )
    m.function(
        "x, s",
        "n = x.numel()\no = torch.zeros(max(n, n * s), dtype=x.dtype)\n"
        f"{name}[({m.pick('1', 'triton.cdiv(n, 8)')},)](o, x, n, s, BLOCK=8)\nreturn o",
    )
    for s in (1, 2, 0, 3) if "//" not in place and "%" not in place else (1, 2, 3, 8):
        m.call(f"m.{m.launcher}(x, {s})", {"x": [8]})


def clamped_blocks(m: Maker) -> None:
    """The last block begins earlier, so that it is whole: two programs store its first elements."""
    name = m.file.names.fresh(("tail_back", "whole_last", "clamped"))
    start = m.pick(
        "tl.minimum(p * BLOCK, n - BLOCK)",
        "min(p * BLOCK, n - BLOCK)",
        "tl.where(p * BLOCK + BLOCK > n, n - BLOCK, p * BLOCK)",
    )
    value = m.pick(unary(m.random, "a"), "a * tl.sum(a, axis=0)")
    m.file.add(
        f"""
@triton.jit
def {name}(o, x, n, BLOCK: tl.constexpr):
    p = tl.program_id(0)
    i = {start} + tl.arange(0, BLOCK)
    a = tl.load(x + i)
    tl.store(o + i, {value})
"""
    )
    m.function(
        "x",
        f"n = x.numel()\no = {m.output('x')}\n{name}[(triton.cdiv(n, 8),)](o, x, n, BLOCK=8)\nreturn o",
    )
    m.call(f"m.{m.launcher}(x)", {"x": [16]})
    m.call(f"m.{m.launcher}(x)", {"x": [m.random.randint(17, 23)]})


def two_stores(m: Maker) -> None:
    """A row and what stands behind it: the next program's row, for some hops."""
    hop = hop_name(m)
    name = m.file.names.fresh(("both_parts", "pair_rows", "twin"))
    stores = [
        f"    tl.store(o + p * {hop} + i, {unary(m.random, 'a')}, mask=i < n)",
        f"    tl.store(o + p * {hop} + n + i, {unary(m.random, 'a')}, mask=i < n)",
    ]
    m.random.shuffle(stores)
    m.file.add(
        f"""
@triton.jit
def {name}(o, x, n, {hop}, BLOCK: tl.constexpr):
    p = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    a = tl.load(x + p * n + i, mask=i < n, other=0.0)
"""
        + "\n".join(stores)
    )
    m.function(
        f"x, {hop}",
        f"rows, n = x.shape\no = torch.zeros(rows * 2 * n + {hop}, dtype=x.dtype)\n"
        f"{name}[(rows,)](o, x, n, {hop}, BLOCK=8)\nreturn o",
    )
    for step in (10, m.pick(5, 7, 8), m.pick(1, 2, 3)):
        m.call(f"m.{m.launcher}(x, {step})", {"x": [3, 5]})


def tuned(m: Maker) -> None:
    """A tuner, or a heuristic, chooses the block; the launcher the hop."""
    name = m.file.names.fresh(("tuned_rows", "heur_rows"))
    decorator = m.pick(
        "@triton.autotune(configs=[triton.Config({'BLOCK': 8}), triton.Config({'BLOCK': 16})], key=['n'])",
        "@triton.heuristics({'BLOCK': lambda args: triton.next_power_of_2(args['n'])})",
    )
    m.file.add(
        f"""
{decorator}
@triton.jit
def {name}(o, x, n, hop, BLOCK: tl.constexpr):
    p = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    a = tl.load(x + p * n + i, mask=i < n, other=0.0)
    tl.store({at_row(m, "o", "hop")}, {unary(m.random, "a")}, mask=i < n)
"""
    )
    grid = m.pick("(rows,)", "lambda meta: (rows, triton.cdiv(n, meta['BLOCK']))")
    m.function(
        "x, hop",
        "rows, n = x.shape\no = torch.zeros(rows * n + hop, dtype=x.dtype)\n"
        f"{name}[{grid}](o, x, n, hop)\nreturn o",
    )
    for step in (6, m.pick(1, 2, 3, 5)):
        m.call(f"m.{m.launcher}(x, {step})", {"x": [3, 6]})


def unread_axis(m: Maker) -> None:
    """More programs than rows: those of a second axis store to the same place."""
    name = m.file.names.fresh(("split_rows", "each_split", "partial"))
    m.file.add(
        f"""
@triton.jit
def {name}(o, x, n, so, BLOCK: tl.constexpr):
    p = tl.program_id(0)
    q = tl.program_id(1)
    i = q * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + p * n + i, mask=i < n, other=0.0)
    t = tl.sum({unary(m.random, "a")} * (i < n), axis=0)
    tl.store(o + p * {m.pick("so + q", "so", "so + q * (so - 1)")}, t)
"""
    )
    m.function(
        "x",
        "rows, n = x.shape\nparts = triton.cdiv(n, 4)\no = torch.zeros(rows, parts, dtype=x.dtype)\n"
        f"{name}[(rows, parts)](o, x, n, {m.pick('o.stride(0)', 'parts', '1', 'parts - 1')}, BLOCK=4)\n"
        "return o",
    )
    m.call(f"m.{m.launcher}(x)", {"x": [3, 4]})
    m.call(f"m.{m.launcher}(x)", {"x": [3, 7]})


def turned_rows(m: Maker) -> None:
    """Rows from the last one on, or from somewhere that the caller says."""
    name = m.file.names.fresh(("backwards", "from_end", "offset_rows"))
    place = m.pick("(rows - 1 - p) * hop + i", "first + p * hop + i", "(p + first) * hop + i")
    m.file.add(
        f"""
@triton.jit
def {name}(o, x, rows, n, hop, first, BLOCK: tl.constexpr):
    p = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    a = tl.load(x + p * n + i, mask=i < n, other=0.0)
    tl.store(o + {place}, {expression(m.random, ["a"])}, mask=i < n)
"""
    )
    m.function(
        "x, hop, first=0",
        "rows, n = x.shape\no = torch.zeros((rows + first) * max(hop, n) + first, dtype=x.dtype)\n"
        f"{name}[(rows,)](o, x, rows, n, hop, first, BLOCK=8)\nreturn o",
    )
    for step in (5, m.pick(1, 2, 3, 4)):
        m.call(f"m.{m.launcher}(x, {step}, {m.pick(0, 1)})", {"x": [3, 5]})


def told_places(m: Maker) -> None:
    """Memory says where rows are; each is as long as they all are."""
    name = m.file.names.fresh(("scatter_rows", "put_at", "placed"))
    at = m.pick("tl.load(start + p)", "tl.load(start + p) * 1", "tl.load(start + p).to(tl.int64)")
    m.file.add(
        f"""
@triton.jit
def {name}(o, x, start, n, BLOCK: tl.constexpr):
    p = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    a = tl.load(x + p * n + i, mask=i < n, other=0.0)
    tl.store(o + {at} + i, {unary(m.random, "a")}, mask=i < n)
"""
    )
    m.function(
        "x, start",
        "rows, n = x.shape\no = torch.zeros(4 * rows * n, dtype=x.dtype)\n"
        f"{name}[(rows,)](o, x, start, n, BLOCK=8)\nreturn o",
    )
    for values in ([0, 6, 12], [0, 3, 9], [12, 0, 6], [5, 5, 20]):
        start = Input([3], dtype="int32", grad=False, values=values)
        m.call(f"m.{m.launcher}(x, start)", {"x": [3, 6], "start": start})


FORMS: tuple[Callable[[Maker], None], ...] = (
    given_hop,
    halved_hop,
    flagged_hop,
    statistic,
    given_output,
    short_blocks,
    tiles,
    iterations,
    heads,
    lanes,
    clamped_blocks,
    two_stores,
    tuned,
    unread_axis,
    turned_rows,
    told_places,
)
