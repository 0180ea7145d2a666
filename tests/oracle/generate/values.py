"""Launchers about values: infinities, bits, programs that communicate, element types."""

from __future__ import annotations

from tests.oracle.case import Input
from tests.oracle.generate.kit import expression, unary
from tests.oracle.generate.maker import Maker

# Infinite or NaN at 0, with slopes that are, too.
SINGULAR = (
    "1.0 / {0}", "tl.log({0})", "tl.sqrt({0})", "tl.rsqrt({0})", "{1} / {0}", "tl.log({0} * {0})",
    "tl.sqrt({0}) * tl.log({0})", "tl.exp(-1.0 / {0})", "{0} / {0} * {1}", "tl.log2({0})",
    "tl.abs(1.0 / {0})", "tl.exp2(tl.log2({0}) * 1.5)",
)  # fmt: skip


def nan(m: Maker) -> None:
    """Elements that nobody keeps are infinite or NaN."""
    forms = [
        masked_singular,
        where_guard,
        padded_softmax,
        padded_online,
        singular_in_loop,
        masked_rows,
        guarded_sum,
    ]
    forms[m.seed % len(forms)](m)


def singular(m: Maker, a: str, b: str) -> str:
    """An expression that is not finite where `a` is 0."""
    return m.random.choice(SINGULAR).format(a, b)


def masked_singular(m: Maker) -> None:
    """A ragged last block loads 0 and divides by it; only the mask of the store saves it."""
    name = m.file.names.fresh(("ragged", "inv", "logs"))
    weight = m.pick("tl.load(w)", "tl.load(w + i, mask=i < n, other=0.0)")
    wrapped = m.pick(
        "{0} * b",
        "{0} + b * a",
        "tl.maximum({0}, -50.0) * b",
        "tl.abs({0}) * b",
        "b / (1.0 + {0} * {0})",
    )
    m.file.add(
        f"""
@triton.jit
def {name}(o, x, w, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + i, mask=i < n{m.pick(", other=0.0", ", other=0.")})
    b = {weight}
    t = {singular(m, "a", "b")}
    tl.store(o + i, {wrapped.format("t")}, mask=i < n)
"""
    )
    size = m.random.choice([5, 7, 11, 13])
    m.function(
        "x, w",
        f"o = {m.output('x')}\n"
        f"{name}[(triton.cdiv(x.numel(), 8),)](o, x, w, x.numel(), BLOCK=8)\n"
        "return o",
    )
    shape = [1] if weight == "tl.load(w)" else [size]
    m.call(
        f"m.{m.launcher}(x, w)",
        {"x": Input([size], low=0.4, high=1.6), "w": Input(shape, low=0.5, high=1.5)},
    )


def where_guard(m: Maker) -> None:
    """tl.where keeps the finite one of two; inputs hold exact zeros."""
    name = m.file.names.fresh(("guarded", "safe_div", "safe_log"))
    test = m.pick("a > 0.0", "a != 0.0", "tl.abs(a) > 0.1")
    other = m.pick("0.0", "b", "b * b", "1.0")
    guard = m.pick("tl.where({0}, {1}, {2})", "tl.where(({0}) & (i < n), {1}, {2})")
    kept = guard.format(test, singular(m, "a", "b"), other)
    m.file.add(
        f"""
@triton.jit
def {name}(o, x, w, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + i, mask=i < n, other=0.0)
    b = tl.load(w + i, mask=i < n, other=0.0)
    r = {kept}
    tl.store(o + i, {expression(m.random, ["r", "b"])}, mask=i < n)
"""
    )
    values = [0.7, 0.0, 1.3, 0.0, 0.6, 0.9, 0.0]
    m.random.shuffle(values)
    m.function(
        "x, w",
        f"o = {m.output('x')}\n"
        f"{name}[(triton.cdiv(x.numel(), 4),)](o, x, w, x.numel(), BLOCK=4)\n"
        "return o",
    )
    # Moved by a constant input, so that zeros stay zeros in the differences.
    m.call(
        f"m.{m.launcher}(x * (z != 0) + 0.5 * x.detach() * 0, w)",
        {
            "x": Input([7], low=0.5, high=1.5),
            "w": Input([7], low=0.5, high=1.5),
            "z": Input([7], values=values, grad=False),
        },
    )


def padded_softmax(m: Maker) -> None:
    """Rows or columns beyond the last are all minus infinity."""
    name = m.file.names.fresh(("softmax_rows", "masked_softmax"))
    shifted = m.pick(
        "s - tl.max(s, 1)[:, None]",
        "s - tl.where(tl.max(s, 1) == float('-inf'), 0.0, tl.max(s, 1))[:, None]",
    )
    end = m.pick(
        "p / tl.sum(p, 1)[:, None]",
        "tl.where(ok, p / tl.sum(p, 1)[:, None], 0.0)",
        "tl.log(p / tl.sum(p, 1)[:, None])",
    )
    keep = m.pick(
        "tl.load(x + r[:, None] * n + c[None, :], mask=ok, other=float('-inf'))",
        "tl.where(ok, tl.load(x + r[:, None] * n + c[None, :], mask=ok, other=0.0), float('-inf'))",
    )
    m.file.add(
        f"""
@triton.jit
def {name}(o, x, rows, n, R: tl.constexpr, C: tl.constexpr):
    r = tl.program_id(0) * R + tl.arange(0, R)
    c = tl.arange(0, C)
    ok = (r[:, None] < rows) & (c[None, :] < n)
    s = {keep}
    p = tl.exp({shifted})
    tl.store(o + r[:, None] * n + c[None, :], {end}, mask=ok)
"""
    )
    m.function(
        "x",
        f"o = {m.output('x')}\n"
        f"{name}[(triton.cdiv(x.shape[0], 4),)](o, x, x.shape[0], x.shape[1], R=4, C=8)\n"
        "return o",
    )
    m.call(f"m.{m.launcher}(x)", {"x": [m.random.choice([3, 5, 6]), m.random.choice([5, 7])]})


def padded_online(m: Maker) -> None:
    """An online softmax with rows of which nothing is seen."""
    name = m.file.names.fresh(("online", "flash_row"))
    seen = m.pick(
        "(j[None, :] < n) & (j[None, :] <= r[:, None])",
        "(j[None, :] < n) & (r[:, None] < live)",
        "(j[None, :] < n) & (j[None, :] < r[:, None])",
    )
    end = m.pick(
        "tl.where(l[:, None] > 0, acc / l[:, None], 0.0)",
        "tl.where((r < live)[:, None] & (l[:, None] > 0), acc / l[:, None], 0.0)",
        "acc / tl.where(l == 0.0, 1.0, l)[:, None]",
    )
    guard = m.pick("tl.where(new == float('-inf'), 0.0, new)", "new")
    if guard == "new":
        end = "tl.where((r < live)[:, None] & (r > 0)[:, None], acc / l[:, None], 0.0)"
    m.file.add(
        f"""
@triton.jit
def {name}(o, x, v, n, live, R: tl.constexpr, C: tl.constexpr, D: tl.constexpr):
    r = tl.program_id(0) * R + tl.arange(0, R)
    d = tl.arange(0, D)
    m = tl.full([R], float("-inf"), tl.float32)
    l = tl.zeros([R], tl.float32)
    acc = tl.zeros([R, D], tl.float32)
    for start in range(0, n, C):
        j = start + tl.arange(0, C)
        s = tl.load(x + r[:, None] * n + j[None, :], mask=(r[:, None] < n) & (j[None, :] < n), other=0.0)
        s = tl.where({seen}, s, float("-inf"))
        new = tl.maximum(m, tl.max(s, 1))
        base = {guard}
        a = tl.exp(m - base)
        p = tl.exp(s - base[:, None])
        vv = tl.load(v + j[:, None] * D + d[None, :], mask=j[:, None] < n, other=0.0)
        acc = acc * a[:, None] + tl.sum(p[:, :, None] * vv[None, :, :], 1)
        l = l * a + tl.sum(p, 1)
        m = new
    out = {end}
    tl.store(o + r[:, None] * D + d[None, :], out, mask=r[:, None] < n)
"""
    )
    m.function(
        "x, v, live",
        "n = x.shape[0]\n"
        "o = torch.empty_like(v)\n"
        f"{name}[(triton.cdiv(n, 4),)](o, x, v, n, live, R=4, C=4, D=v.shape[1])\n"
        "return o",
    )
    n = m.random.choice([5, 6, 7])
    m.call(f"m.{m.launcher}(x, v, {m.pick(n, n - 2)})", {"x": [n, n], "v": [n, 4]})


def singular_in_loop(m: Maker) -> None:
    name = m.file.names.fresh(("repeat", "iterate"))
    body = m.pick("a = {0}", "a = a + {0}", "if t > 0:\n            a = {0}", "a, c = c, {0}")
    start = "a, c = v, v" if ", c" in body else "a = v * 0.5"
    m.file.add(
        f"""
@triton.jit
def {name}(o, x, w, n, T, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0.0)
    b = tl.load(w)
    {start}
    for t in range(0, T):
        {body.format(singular(m, "v", "b"))}
    tl.store(o + i, a * b, mask=i < n)
"""
    )
    m.function(
        "x, w",
        f"o = {m.output('x')}\n"
        f"{name}[(triton.cdiv(x.numel(), 4),)](o, x, w, x.numel(), {m.pick(1, 2, 3)}, BLOCK=4)\n"
        "return o",
    )
    m.call(
        f"m.{m.launcher}(x, w)",
        {"x": Input([m.pick(5, 6, 7)], low=0.4, high=1.4), "w": Input([1], low=0.5, high=1.5)},
    )


def masked_rows(m: Maker) -> None:
    """Statistics of rows beyond the last: a standard deviation of 0."""
    name = m.file.names.fresh(("norm_rows", "scale_tile"))
    kind = m.pick(
        "t / tl.sqrt(tl.sum(t * t, 1))[:, None]",
        "t / tl.sum(t, 1)[:, None]",
        "t * tl.rsqrt(tl.sum(t * t, 1))[:, None]",
        "tl.log(tl.sum(t * t, 1))[:, None] * t",
    )
    m.file.add(
        f"""
@triton.jit
def {name}(o, x, w, rows, n, R: tl.constexpr, C: tl.constexpr):
    r = tl.program_id(0) * R + tl.arange(0, R)
    c = tl.arange(0, C)
    ok = (r[:, None] < rows) & (c[None, :] < n)
    t = tl.load(x + r[:, None] * n + c[None, :], mask=ok, other=0.0)
    g = tl.load(w + c, mask=c < n, other=0.0)
    y = {kind}
    tl.store(o + r[:, None] * n + c[None, :], y * g[None, :], mask=ok)
"""
    )
    m.function(
        "x, w",
        f"o = {m.output('x')}\n"
        f"{name}[(triton.cdiv(x.shape[0], 4),)](o, x, w, x.shape[0], x.shape[1], R=4, C=8)\n"
        "return o",
    )
    columns = m.pick(5, 6)
    m.call(
        f"m.{m.launcher}(x, w)",
        {"x": Input([m.pick(3, 5), columns], low=0.3, high=1.0), "w": [columns]},
    )


def guarded_sum(m: Maker) -> None:
    """A sum over elements of which the masked-off ones are infinite until tl.where."""
    name = m.file.names.fresh(("total", "mean_log"))
    m.file.add(
        f"""
@triton.jit
def {name}(o, x, w, n, BLOCK: tl.constexpr):
    r = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    a = tl.load(x + r * n + i, mask=i < n, other=0.0)
    b = tl.load(w + i, mask=i < n, other=0.0)
    t = tl.where(i < n, {singular(m, "a", "b")}, 0.0)
    tl.store(o + r, tl.sum(t * b))
"""
    )
    m.function(
        "x, w",
        "o = torch.empty(x.shape[0], dtype=x.dtype)\n"
        f"{name}[(x.shape[0],)](o, x, w, x.shape[1], BLOCK=8)\n"
        "return o",
    )
    m.call(
        f"m.{m.launcher}(x, w)",
        {"x": Input([2, 5], low=0.4, high=1.6), "w": Input([5], low=0.5, high=1.5)},
    )


BITS = (
    # sign cleared, sign flipped, exponent cut, bits of two numbers mixed, by way of integers
    "((v.to(tl.int32, bitcast=True) & 0x7FFFFFFF).to(tl.float32, bitcast=True))",
    "((v.to(tl.int32, bitcast=True) ^ -2147483648).to(tl.float32, bitcast=True))",
    "((v.to(tl.int32, bitcast=True) & -65536).to(tl.float32, bitcast=True))",
    "((v.to(tl.uint32, bitcast=True) >> 1).to(tl.float32, bitcast=True))",
    "((v.to(tl.int32, bitcast=True) + 8388608).to(tl.float32, bitcast=True))",
    "(tl.where(i % 2 == 0, v.to(tl.int32, bitcast=True), u.to(tl.int32, bitcast=True)).to(tl.float32, bitcast=True))",
    "(v.to(tl.int32, bitcast=True).to(tl.float32, bitcast=True))",
    "(v.to(tl.int32).to(tl.float32) * v)",
    "(tl.floor(v * 4.0) * v)",
    "((v * 16.0).to(tl.int32).to(tl.float32) * 0.0625 + v)",
    "tl.sort(v.to(tl.int32, bitcast=True)).to(tl.float32, bitcast=True)",
)


def bits(m: Maker) -> None:
    """Floats that travel as integers."""
    (cast_pointers if m.seed % 4 == 3 else cast_values)(m)


def cast_values(m: Maker) -> None:
    name = m.file.names.fresh(("bit_trick", "via_int", "pack_bits"))
    trick = BITS[(m.seed * 3 + m.seed // 4) % len(BITS)]
    m.file.add(
        f"""
@triton.jit
def {name}(o, x, w, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=1.0)
    u = tl.load(w + i, mask=i < n, other=1.0)
    t = {trick}
    tl.store(o + i, {expression(m.random, ["t", "u"])}, mask=i < n)
"""
    )
    m.function("x, w", f"o = {m.output('x')}\n{name}[(1,)](o, x, w, x.numel(), BLOCK=8)\nreturn o")
    m.call(
        f"m.{m.launcher}(x, w)",
        {"x": Input([m.pick(6, 8)], "float32", low=0.3, high=1.9), "w": Input([8], "float32")},
    )


def cast_pointers(m: Maker) -> None:
    """A pointer to floats read as integers, or the other way."""
    name = m.file.names.fresh(("reinterpret", "raw_copy"))
    through = m.pick("int32", "uint32")
    if m.chance(0.5):
        load = f"v = tl.load(x.to(tl.pointer_type(tl.{through})) + i, mask=i < n, other=0).to(tl.float32, bitcast=True)"
        store = f"tl.store(o + i, {expression(m.random, ['v', 'u'])}, mask=i < n)"
    else:
        load = "v = tl.load(x + i, mask=i < n, other=0.0)"
        result = f"({expression(m.random, ['v', 'u'])}).to(tl.{through}, bitcast=True)"
        store = f"tl.store(o.to(tl.pointer_type(tl.{through})) + i, {result}, mask=i < n)"
    m.file.add(
        f"""
@triton.jit
def {name}(o, x, w, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    {load}
    u = tl.load(w + i, mask=i < n, other=0.0)
    {store}
"""
    )
    buffer, end = "torch.empty_like(x)", "o"
    if m.chance(0.4):
        buffer, end = "torch.empty(x.numel(), dtype=torch.int32)", "o.view(torch.float32)"
        text = m.file.parts[-1]
        if "o.to(" not in text:
            buffer, end = "torch.empty_like(x)", "o"
        else:
            m.file.parts[-1] = text.replace(f"o.to(tl.pointer_type(tl.{through}))", "o").replace(
                f"tl.{through}, bitcast", "tl.int32, bitcast"
            )
    m.function("x, w", f"o = {buffer}\n{name}[(1,)](o, x, w, x.numel(), BLOCK=8)\nreturn {end}")
    m.call(f"m.{m.launcher}(x, w)", {"x": Input([7], "float32"), "w": Input([8], "float32")})


def communication(m: Maker) -> None:
    """Programs that read what others wrote, or order themselves."""
    forms = [
        lookback,
        semaphore,
        reads_neighbour,
        last_one_finishes,
        accumulates_and_reads,
        read_modify_write,
    ]
    forms[m.seed % len(forms)](m)


def lookback(m: Maker) -> None:
    wait = m.pick(
        "while tl.load(flag + p - 1, volatile=True) == 0:",
        "while tl.atomic_add(flag + p - 1, 0) == 0:",
        "while tl.atomic_cas(flag + p - 1, 1, 1) != 1:",
        "while tl.atomic_max(flag + p - 1, 0) == 0:",
    )
    ready = m.pick(
        "tl.store(flag + p, 1)", "tl.atomic_add(flag + p, 1)", "tl.atomic_xchg(flag + p, 1)"
    )
    name = m.file.names.fresh(("prefix", "decoupled"))
    m.file.add(
        f"""
@triton.jit
def {name}(out, agg, flag, x, n, BLOCK: tl.constexpr):
    p = tl.program_id(0)
    i = p * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0.0)
    s = tl.cumsum(v, 0)
    before = 0.0
    if p > 0:
        {wait}
            pass
        before = tl.load(agg + p - 1)
    tl.store(agg + p, before + tl.sum(v))
    tl.debug_barrier()
    {ready}
    c = s + before
    tl.store(out + i, {expression(m.random, ["c", "v"])}, mask=i < n)
"""
    )
    m.function(
        "x",
        "n = x.numel()\n"
        "g = triton.cdiv(n, 4)\n"
        f"out = {m.output('x')}\n"
        "agg = torch.empty(g, dtype=x.dtype)\n"
        "flag = torch.zeros(g, dtype=torch.int32)\n"
        f"{name}[(g,)](out, agg, flag, x, n, BLOCK=4)\n"
        "return out",
    )
    m.call(f"m.{m.launcher}(x)", {"x": [m.random.randint(6, 12)]})


def semaphore(m: Maker) -> None:
    name = m.file.names.fresh(("ordered", "serial_sum"))
    wait = m.pick(
        "while tl.atomic_add(sem, 0) != p:",
        "while tl.load(sem, volatile=True) != p:",
        "while tl.atomic_cas(sem, p, p) != p:",
    )
    m.file.add(
        f"""
@triton.jit
def {name}(out, sem, x, n, BLOCK: tl.constexpr):
    p = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + p * n + i, mask=i < n, other=0.0)
    {wait}
        pass
    a = v
    if p > 0:
        t = tl.load(out + i, mask=i < n, other=0.0)
        a = {expression(m.random, ["v", "t"], 1)}
    tl.store(out + i, a, mask=i < n)
    tl.debug_barrier()
    tl.atomic_add(sem, 1)
"""
    )
    m.function(
        "x",
        "out = torch.zeros(x.shape[1], dtype=x.dtype)\nsem = torch.zeros(1, dtype=torch.int32)\n"
        f"{name}[(x.shape[0],)](out, sem, x, x.shape[1], BLOCK=8)\nreturn out",
    )
    m.call(f"m.{m.launcher}(x)", {"x": m.shape})


def reads_neighbour(m: Maker) -> None:
    """Program p reads the row that program p - 1 stored."""
    name = m.file.names.fresh(("wavefront", "chain_rows"))
    m.file.add(
        f"""
@triton.jit
def {name}(hs, x, n, BLOCK: tl.constexpr):
    p = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    h = tl.load(hs + p * n + i, mask=i < n, other=0.0)
    v = tl.load(x + p * n + i, mask=i < n, other=0.0)
    tl.store(hs + (p + 1) * n + i, {expression(m.random, ["h", "v"], 1)}, mask=i < n)
"""
    )
    m.function(
        "x",
        "T, n = x.shape\n"
        f"hs = torch.{m.pick('zeros', 'ones')}(T + 1, n, dtype=x.dtype)\n"
        f"{name}[(T,)](hs, x, n, BLOCK=8)\n"
        "return hs",
    )
    m.call(f"m.{m.launcher}(x)", {"x": m.shape})


def last_one_finishes(m: Maker) -> None:
    """The program that counts to the end sums the partial results of all."""
    name = m.file.names.fresh(("reduce_all", "finish_last"))
    m.file.add(
        f"""
@triton.jit
def {name}(out, part, count, x, n, BLOCK: tl.constexpr, P: tl.constexpr):
    p = tl.program_id(0)
    i = p * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0.0)
    tl.store(part + p, tl.sum(tl.where(i < n, {unary(m.random, "v")}, 0.0)))
    tl.debug_barrier()
    done = tl.atomic_add(count, 1)
    if done == tl.num_programs(0) - 1:
        j = tl.arange(0, P)
        t = tl.sum(tl.load(part + j, mask=j < tl.num_programs(0), other=0.0))
        tl.store(out, {unary(m.random, "t")})
"""
    )
    m.function(
        "x",
        "g = triton.cdiv(x.numel(), 4)\n"
        "out = torch.zeros(1, dtype=x.dtype)\n"
        "part = torch.empty(g, dtype=x.dtype)\n"
        "count = torch.zeros(1, dtype=torch.int32)\n"
        f"{name}[(g,)](out, part, count, x, x.numel(), BLOCK=4, P=8)\n"
        "return out",
    )
    m.call(f"m.{m.launcher}(x)", {"x": [m.random.randint(6, 15)]})


def accumulates_and_reads(m: Maker) -> None:
    """What atomic_add returns is used."""
    name = m.file.names.fresh(("running", "ticket"))
    m.file.add(
        f"""
@triton.jit
def {name}(out, total, x, n, BLOCK: tl.constexpr):
    p = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + p * n + i, mask=i < n, other=0.0)
    old = tl.atomic_add(total, tl.sum(v * v))
    tl.store(out + p * n + i, {expression(m.random, ["v", "old"], 1)}, mask=i < n)
"""
    )
    m.function(
        "x",
        f"out = {m.output('x')}\n"
        "total = torch.zeros(1, dtype=x.dtype)\n"
        f"{name}[(x.shape[0],)](out, total, x, x.shape[1], BLOCK=8)\n"
        "return out",
    )
    m.call(f"m.{m.launcher}(x)", {"x": m.shape})


def read_modify_write(m: Maker) -> None:
    """Programs add to what they share without an atomic."""
    name = m.file.names.fresh(("shared_sum", "bump"))
    m.file.add(
        f"""
@triton.jit
def {name}(out, x, n, BLOCK: tl.constexpr):
    p = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + p * n + i, mask=i < n, other=0.0)
    t = tl.load(out + i, mask=i < n, other=0.0)
    tl.store(out + i, {expression(m.random, ["t", "v"], 1)}, mask=i < n)
"""
    )
    m.function(
        "x",
        "out = torch.ones(x.shape[1], dtype=x.dtype)\n"
        f"{name}[(x.shape[0],)](out, x, x.shape[1], BLOCK=8)\n"
        "return out",
    )
    m.call(f"m.{m.launcher}(x)", {"x": m.shape})


def dtypes(m: Maker) -> None:
    """Half precision, mixed types, integers beside floats."""
    forms = [half, mixed, gathered, counted, cast_output, half]
    forms[m.seed % len(forms)](m)


def half(m: Maker) -> None:
    kind = m.pick("float16", "bfloat16", "float32")
    cast = m.pick(".to(tl.float32)", "", ".to(tl.float32)")
    if kind != "float32":  # `tl.exp` and the like take no half
        cast = ".to(tl.float32)"
    k = m.file.kernel(2, 1, cast=cast, store_cast=m.chance(0.3))
    m.function(
        "x, w", f"out = {m.output('x')}\n{m.launch(k, ['x', 'w'], ['out'], 'x')}\nreturn out"
    )
    shape = m.shape
    m.call(f"m.{m.launcher}(x, w)", {"x": Input(shape, kind), "w": Input(shape, kind)}, wide=True)


def mixed(m: Maker) -> None:
    a, b = m.random.sample(["float16", "float32", "float64", "bfloat16"], 2)
    k = m.file.kernel(2, 1, cast=".to(tl.float32)")
    out = m.pick(
        "torch.empty_like(x)", "torch.empty_like(w)", "torch.empty(x.shape, dtype=torch.float32)"
    )
    m.function("x, w", f"out = {out}\n{m.launch(k, ['x', 'w'], ['out'], 'x')}\nreturn out")
    m.call(f"m.{m.launcher}(x, w)", {"x": Input(m.shape, a), "w": Input(m.shape, b)}, wide=True)


def gathered(m: Maker) -> None:
    name = m.file.names.fresh(("gather", "lookup", "take_rows"))
    kind = m.pick("int64", "int32")
    m.file.add(
        f"""
@triton.jit
def {name}(o, table, ids, w, D, BLOCK: tl.constexpr):
    r = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    t = tl.load(ids + r)
    a = tl.load(table + t * D + c, mask=c < D, other=0.0)
    b = tl.load(w + r)
    tl.store(o + r * D + c, {expression(m.random, ["a", "b"])}, mask=c < D)
"""
    )
    m.function(
        "table, ids, w",
        "o = torch.empty(ids.shape[0], table.shape[1], dtype=table.dtype)\n"
        f"{name}[(ids.shape[0],)](o, table, ids, w, table.shape[1], BLOCK=8)\n"
        "return o",
    )
    m.call(
        f"m.{m.launcher}(table, ids, w)",
        {"table": [4, 6], "ids": Input([5], kind, grad=False, low=0, high=3), "w": [5]},
    )


def counted(m: Maker) -> None:
    """An integer output beside a float one, and integers as weights."""
    name = m.file.names.fresh(("top", "with_index", "bucket"))
    found = m.pick(
        "tl.argmax(v, axis=0)",
        "tl.sum((v > 0.1).to(tl.int32))",
        "tl.max(tl.where(v > 0, i, 0), axis=0)",
    )
    m.file.add(
        f"""
@triton.jit
def {name}(o, idx, x, c, n, BLOCK: tl.constexpr):
    r = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + r * n + i, mask=i < n, other=-1000.0)
    k = tl.load(c + i, mask=i < n, other=0)
    tl.store(idx + r, {found})
    s = tl.where(i < n, v, 0.0)
    tl.store(o + r, tl.sum({unary(m.random, "s")} * k))
"""
    )
    m.function(
        "x, c",
        "o = torch.empty(x.shape[0], dtype=x.dtype)\n"
        "idx = torch.empty(x.shape[0], dtype=torch.int64)\n"
        f"{name}[(x.shape[0],)](o, idx, x, c, x.shape[1], BLOCK=8)\n"
        "return " + m.pick("o, idx", "o", "idx, o"),
    )
    m.call(
        f"m.{m.launcher}(x, c)", {"x": [3, 6], "c": Input([6], "int32", grad=False, low=1, high=4)}
    )


def cast_output(m: Maker) -> None:
    k = m.file.kernel(1, 1, cast=".to(tl.float32)", store_cast=True)
    m.function(
        "x, dtype=None",
        "out = torch.empty(x.shape, dtype=dtype or x.dtype)\n"
        f"{m.launch(k, ['x'], ['out'], 'x')}\n"
        "return out",
    )
    m.call(f"m.{m.launcher}(x)", {"x": Input(m.shape, "float32")}, wide=True)
    m.call(
        f"m.{m.launcher}(x, torch.float64)",
        {"x": Input(m.shape, m.pick("float32", "float16"))},
        wide=True,
    )
