"""Programs of one launch that hand values to each other: queues, locks, trees, halos, tickets, flags in helpers."""

from __future__ import annotations

from collections.abc import Callable

from tests.oracle.case import Input
from tests.oracle.generate.kit import expression, unary
from tests.oracle.generate.maker import Maker

NAMES = ("stage", "relay", "exchange", "hand_over", "linked", "pipeline", "cooperative")


def exchange(m: Maker) -> None:
    """One of the forms below."""
    FORMS[m.seed % len(FORMS)](m)


def kernel(m: Maker, parameters: str, body: str) -> str:
    """A kernel of these lines, added to the file; its name."""
    name = m.file.names.fresh(NAMES)
    lines = "\n".join("    " + line for line in body.strip("\n").splitlines())
    m.file.add(f"@triton.jit\ndef {name}({parameters}):\n{lines}\n")
    return name


def work_queue(m: Maker) -> None:
    """A counter deals tiles to whoever comes."""
    ticket = m.pick(
        "tl.atomic_add(counter, 1)",
        "tl.atomic_add(counter, 1, sem='relaxed')",
        "tl.atomic_add(counter, 1, scope='gpu')",
    )
    name = kernel(
        m,
        "out, counter, x, rows, n, BLOCK: tl.constexpr",
        f"""
i = tl.arange(0, BLOCK)
r = {ticket}
while r < rows:
    v = tl.load(x + r * n + i, mask=i < n, other=0.0)
    tl.store(out + r * n + i, {unary(m.random, "v")}, mask=i < n)
    r = {ticket}
""",
    )
    m.function(
        "x",
        f"rows, n = x.shape\nout = {m.output('x')}\ncounter = torch.zeros(1, dtype=torch.int32)\n"
        f"{name}[({m.pick('2', 'rows', '3')},)](out, counter, x, rows, n, BLOCK=8)\nreturn out",
    )
    m.call(f"m.{m.launcher}(x)", {"x": m.shape})


def lock(m: Maker) -> None:
    """What is shared is changed under a lock."""
    take = m.pick(
        "while tl.atomic_cas(lock, 0, 1) == 1:\n    pass",
        "while tl.atomic_xchg(lock, 1) != 0:\n    pass",
        "while tl.atomic_or(lock, 1) & 1 == 1:\n    pass",
        "got = 1\nwhile got == 1:\n    got = tl.atomic_cas(lock, 0, 1)",
    )
    release = m.pick(
        "tl.atomic_xchg(lock, 0)", "tl.atomic_and(lock, 0)", "tl.atomic_cas(lock, 1, 0)"
    )
    name = kernel(
        m,
        "out, lock, x, n, BLOCK: tl.constexpr",
        f"""
p = tl.program_id(0)
i = tl.arange(0, BLOCK)
v = tl.load(x + p * n + i, mask=i < n, other=0.0)
{take}
t = tl.load(out + i, mask=i < n, other=0.0)
tl.store(out + i, {m.pick("t + v * v", "t * 0.5 + v", expression(m.random, ["t", "v"], 1))}, mask=i < n)
tl.debug_barrier()
{release}
""",
    )
    m.function(
        "x",
        "out = torch.ones(x.shape[1], dtype=x.dtype)\nlock = torch.zeros(1, dtype=torch.int32)\n"
        f"{name}[(x.shape[0],)](out, lock, x, x.shape[1], BLOCK=8)\nreturn out",
    )
    m.call(f"m.{m.launcher}(x)", {"x": m.shape})


def fix_up(m: Maker) -> None:
    """Stream-k: a program adds the part of the one before it, once that is there."""
    wait = m.pick(
        "while tl.atomic_cas(flag + p - 1, 1, 1) != 1:\n        pass",
        "while tl.load(flag + p - 1, volatile=True) != 1:\n        pass",
        "while tl.load(flag + p - 1, cache_modifier='.cv') != 1:\n        pass",
        "ready(flag, p - 1)",
    )
    if wait.startswith("ready"):
        m.file.add(
            "@triton.jit\ndef ready(flag, at):\n    while tl.atomic_add(flag + at, 0) == 0:\n        pass\n"
        )
    name = kernel(
        m,
        "out, part, flag, x, n, BLOCK: tl.constexpr",
        f"""
p = tl.program_id(0)
i = tl.arange(0, BLOCK)
v = tl.load(x + p * n + i, mask=i < n, other=0.0)
acc = {unary(m.random, "v")}
if p > 0:
    {wait}
    acc += tl.load(part + {m.pick("(p - 1) * n", "p * n - n")} + i, mask=i < n, other=0.0)
tl.store(part + p * n + i, acc, mask=i < n)
tl.debug_barrier()
{m.pick("tl.atomic_xchg(flag + p, 1)", "tl.store(flag + p, 1)", "tl.atomic_add(flag + p, 1, sem='release')")}
tl.store(out + p * n + i, {unary(m.random, "acc")}, mask=i < n)
""",
    )
    m.function(
        "x",
        f"rows, n = x.shape\nout = {m.output('x')}\npart = torch.empty_like(x)\n"
        "flag = torch.zeros(rows, dtype=torch.int32)\n"
        f"{name}[(rows,)](out, part, flag, x, n, BLOCK=8)\nreturn out",
    )
    m.call(f"m.{m.launcher}(x)", {"x": m.shape})


def two_names(m: Maker) -> None:
    """The state that is read and the one that is stored are one tensor, or views of one."""
    name = kernel(
        m,
        "new, old, x, n, BLOCK: tl.constexpr",
        f"""
p = tl.program_id(0)
i = tl.arange(0, BLOCK)
h = tl.load(old + p * n + i, mask=i < n, other=0.0)
v = tl.load(x + p * n + i, mask=i < n, other=0.0)
tl.store(new + p * n + i, {expression(m.random, ["h", "v"], 1)}, mask=i < n)
""",
    )
    given = m.pick("hs[1:], hs", "hs[1:], hs[:-1]", "hs.view(-1)[n:], hs.view(-1)", "hs[1], hs[0]")
    m.function(
        "x",
        f"rows, n = x.shape\nhs = torch.{m.pick('zeros', 'ones')}(rows + 1, n, dtype=x.dtype)\n"
        f"{name}[(rows,)]({given}, x, n, BLOCK=8)\nreturn hs",
    )
    m.call(f"m.{m.launcher}(x)", {"x": m.shape})


def at_distance(m: Maker) -> None:
    """A program reads the row that one `d` in front of it stored; the caller says `d`."""
    name = kernel(
        m,
        "h, x, n, d, BLOCK: tl.constexpr",
        f"""
p = tl.program_id(0)
i = tl.arange(0, BLOCK)
v = tl.load(x + p * n + i, mask=i < n, other=0.0)
ok = (i < n) & (p >= d)
before = tl.load(h + (p - d) * n + i, mask=ok, other=1.0)
tl.store(h + p * n + i, {expression(m.random, ["before", "v"], 1)}, mask=i < n)
""",
    )
    given = m.pick("d", "d + 1", "2", "-d")
    m.function(
        "x, d",
        f"rows, n = x.shape\nh = torch.full_like(x, 0.5)\n"
        f"{name}[(rows,)](h, x, n, {given}, BLOCK=8)\nreturn h",
    )
    for d in (0, 1, 2):
        if given != "-d" or d == 0:
            m.call(f"m.{m.launcher}(x, {d})", {"x": [4, 5]})


def tree(m: Maker) -> None:
    """A node reads what its parent stored; the parent's number is computed, or in memory."""
    told = m.chance(0.5)
    parent = "tl.load(up + p)" if told else m.pick("(p - 1) // 2", "p // 2", "p & (p - 1)")
    name = kernel(
        m,
        "h, x, up, n, BLOCK: tl.constexpr",
        f"""
p = tl.program_id(0)
i = tl.arange(0, BLOCK)
v = tl.load(x + p * n + i, mask=i < n, other=0.0)
a = tl.zeros((BLOCK,), tl.float32)
if p > 0:
    a += tl.load(h + {parent} * n + i, mask=i < n, other=0.0)
tl.store(h + p * n + i, {unary(m.random, "v")} + a, mask=i < n)
""",
    )
    m.function(
        "x, up",
        f"rows, n = x.shape\nh = torch.zeros_like(x)\n{name}[(rows,)](h, x, up, n, BLOCK=8)\nreturn h",
    )
    up = Input([5], dtype="int32", grad=False, values=[0, 0, 0, 1, 1])
    m.call(f"m.{m.launcher}(x, up)", {"x": [5, 6], "up": up}, wide=True)


def halo(m: Maker) -> None:
    """The last element of the block in front is read from the output, or from the input."""
    source = m.pick("out", "out", "x")
    name = kernel(
        m,
        "out, x, n, BLOCK: tl.constexpr",
        f"""
p = tl.program_id(0)
i = p * BLOCK + tl.arange(0, BLOCK)
v = tl.load(x + i, mask=i < n, other=0.0)
edge = tl.load({source} + p * BLOCK - 1, mask=p > 0, other=0.0)
tl.store(out + i, {expression(m.random, ["v", "edge"], 1)}, mask=i < n)
""",
    )
    m.function(
        "x",
        f"n = x.numel()\nout = torch.zeros_like(x)\n{name}[(triton.cdiv(n, 4),)](out, x, n, BLOCK=4)\nreturn out",
    )
    m.call(f"m.{m.launcher}(x)", {"x": [m.random.randint(6, 14)]})


def wavefront(m: Maker) -> None:
    """A cell of a grid of programs reads those above it, or left of it."""
    sides = m.pick((True, True), (True, False), (False, True))
    lines = []
    if sides[0]:
        lines.append("a += tl.load(h + (r - 1) * W + c, mask=r > 0, other=0.0)")
    if sides[1]:
        lines.append("a += tl.load(h + r * W + c - 1, mask=c > 0, other=0.0)")
    name = kernel(
        m,
        "h, x, W",
        "r = tl.program_id(0)\nc = tl.program_id(1)\na = 0.0\n"
        + "\n".join(lines)
        + f"\nv = tl.load(x + r * W + c)\ntl.store(h + r * W + c, {unary(m.random, 'v')} + a * 0.5)\n",
    )
    m.function(
        "x",
        f"H, W = x.shape\nh = torch.zeros_like(x)\n{name}[(H, W)](h, x, W)\nreturn h",
    )
    m.call(f"m.{m.launcher}(x)", {"x": [3, 3]})


def largest(m: Maker) -> None:
    """What `atomic_max` or `atomic_min` returned is used, or what is there by then is read."""
    use = m.pick(
        "old = tl.atomic_max(best, t)\ntl.store(out + p, old * t)",
        "tl.atomic_max(best, t)\ntl.store(out + p, tl.load(best) * t)",
        "old = tl.atomic_min(best, t - 9.0)\ntl.store(out + p, old + t)",
    )
    name = kernel(
        m,
        "out, best, x, n, BLOCK: tl.constexpr",
        f"""
p = tl.program_id(0)
i = tl.arange(0, BLOCK)
v = tl.load(x + p * n + i, mask=i < n, other=0.0)
t = tl.sum(v * v)
{use}
""",
    )
    m.function(
        "x",
        "rows, n = x.shape\nout = torch.zeros(rows, dtype=x.dtype)\nbest = torch.zeros(1, dtype=x.dtype)\n"
        f"{name}[(rows,)](out, best, x, n, BLOCK=8)\nreturn out",
    )
    m.call(f"m.{m.launcher}(x)", {"x": Input(m.shape, dtype="float32")})


def compaction(m: Maker) -> None:
    """A ticket says where a program stores its row."""
    name = kernel(
        m,
        "out, count, x, n, BLOCK: tl.constexpr",
        f"""
p = tl.program_id(0)
i = tl.arange(0, BLOCK)
v = tl.load(x + p * n + i, mask=i < n, other=0.0)
if {m.pick("tl.sum(v) > -100.0", "p % 2 == 0", "p >= 0")}:
    at = tl.atomic_add(count, 1)
    tl.store(out + at * n + i, {unary(m.random, "v")}, mask=i < n)
""",
    )
    m.function(
        "x",
        "rows, n = x.shape\nout = torch.zeros_like(x)\ncount = torch.zeros(1, dtype=torch.int32)\n"
        f"{name}[(rows,)](out, count, x, n, BLOCK=8)\nreturn out",
    )
    m.call(f"m.{m.launcher}(x)", {"x": m.shape})


def under_flag(m: Maker) -> None:
    """Programs hand a sum on under a flag alone."""
    name = kernel(
        m,
        "out, carry, x, n, CHAIN: tl.constexpr, BLOCK: tl.constexpr",
        f"""
p = tl.program_id(0)
i = tl.arange(0, BLOCK)
v = tl.load(x + p * n + i, mask=i < n, other=0.0)
r = {unary(m.random, "v")}
if CHAIN:
    r += tl.load(carry + p)
    tl.store(carry + p + 1, tl.sum(v))
tl.store(out + p * n + i, r, mask=i < n)
""",
    )
    m.function(
        "x, chain=" + m.pick("False", "True"),
        f"rows, n = x.shape\nout = {m.output('x')}\ncarry = torch.zeros(rows + 1, dtype=x.dtype)\n"
        f"{name}[(rows,)](out, carry, x, n, CHAIN=chain, BLOCK=8)\nreturn out",
    )
    m.call(f"m.{m.launcher}(x, chain=False)", {"x": m.shape})
    m.call(f"m.{m.launcher}(x, chain=True)", {"x": m.shape})


def by_steps(m: Maker) -> None:
    """In each step a program reads what another one stored in the step before."""
    name = kernel(
        m,
        "buf, x, T, P, n, BLOCK: tl.constexpr",
        f"""
p = tl.program_id(0)
i = tl.arange(0, BLOCK)
for t in range(T):
    v = tl.load(x + (t * P + p) * n + i, mask=i < n, other=0.0)
    q = (t - 1) * P + {m.pick("p - 1", "(p + P - 1) % P", "0")}
    b = tl.load(buf + q * n + i, mask=(i < n) & (t > 0) & (p > 0), other=0.0)
    tl.store(buf + (t * P + p) * n + i, {unary(m.random, "v")} + b, mask=i < n)
""",
    )
    m.function(
        "x",
        f"T, P, n = x.shape\nbuf = torch.zeros_like(x)\n{name}[(P,)](buf, x, T, P, n, BLOCK=8)\nreturn buf",
    )
    m.call(f"m.{m.launcher}(x)", {"x": [2, 3, 5]})


def halves(m: Maker) -> None:
    """Programs of one half store what those of the other half read."""
    first = m.pick("p < half", "p // half == 0")
    name = kernel(
        m,
        "out, mid, x, half, n, BLOCK: tl.constexpr",
        f"""
p = tl.program_id(0)
i = tl.arange(0, BLOCK)
if {first}:
    v = tl.load(x + p * n + i, mask=i < n, other=0.0)
    tl.store(mid + p * n + i, {unary(m.random, "v")}, mask=i < n)
else:
    u = tl.load(mid + (p - half) * n + i, mask=i < n, other=0.0)
    tl.store(out + (p - half) * n + i, {unary(m.random, "u")}, mask=i < n)
""",
    )
    m.function(
        "x",
        f"rows, n = x.shape\nmid = torch.zeros_like(x)\nout = torch.zeros_like(x)\n"
        f"{name}[(2 * rows,)](out, mid, x, rows, n, BLOCK=8)\nreturn out",
    )
    m.call(f"m.{m.launcher}(x)", {"x": m.shape})


def running_total(m: Maker) -> None:
    """Programs add to a number and read what it has come to."""
    read = m.pick(
        "tl.atomic_add(total, t)\ns = tl.load(total)",
        "tl.atomic_add(total, t)\ns = tl.load(total, volatile=True)",
        "tl.atomic_add(total, t)\ns = tl.atomic_add(total, 0.0)",
        "s = tl.load(total)\ntl.atomic_add(total, t)",
    )
    name = kernel(
        m,
        "out, total, x, n, BLOCK: tl.constexpr",
        f"""
p = tl.program_id(0)
i = tl.arange(0, BLOCK)
v = tl.load(x + p * n + i, mask=i < n, other=0.0)
t = tl.sum({unary(m.random, "v")} * (i < n))
{read}
tl.store(out + p * n + i, v * s, mask=i < n)
""",
    )
    m.function(
        "x",
        f"rows, n = x.shape\nout = {m.output('x')}\ntotal = torch.zeros(1, dtype=x.dtype)\n"
        f"{name}[(rows,)](out, total, x, n, BLOCK=8)\nreturn out",
    )
    m.call(f"m.{m.launcher}(x)", {"x": m.shape})


def told_row(m: Maker) -> None:
    """Memory says which row a program reads of the tensor that all of them store to."""
    name = kernel(
        m,
        "h, x, index, n, BLOCK: tl.constexpr",
        f"""
p = tl.program_id(0)
i = tl.arange(0, BLOCK)
at = tl.load(index + p)
b = tl.load(h + at * n + i, mask=i < n, other=0.0)
v = tl.load(x + p * n + i, mask=i < n, other=0.0)
tl.store(h + p * n + i, {expression(m.random, ["b", "v"], 1)}, mask=i < n)
""",
    )
    m.function(
        "x, index",
        f"rows, n = x.shape\nh = torch.full_like(x, 0.3)\n{name}[(rows,)](h, x, index, n, BLOCK=8)\nreturn h",
    )
    for values in ([0, 1, 2, 3], [0, 0, 1, 2], [3, 2, 1, 0]):
        index = Input([4], dtype="int32", grad=False, values=values)
        m.call(f"m.{m.launcher}(x, index)", {"x": [4, 5], "index": index})


def finishing(m: Maker) -> None:
    """Whoever comes last, by one of several counts, finishes what all have left."""
    last = m.pick(
        "tl.atomic_add(count, 1) + 1 == tl.num_programs(0)",
        "tl.atomic_add(count, -1) == 1 - tl.num_programs(0)",
        "tl.atomic_max(count, p) == p - 1 and p == tl.num_programs(0) - 1",
        "tl.atomic_add(count, 1) >= tl.num_programs(0) - 1",
    )
    name = kernel(
        m,
        "out, part, count, x, n, BLOCK: tl.constexpr",
        f"""
p = tl.program_id(0)
i = tl.arange(0, BLOCK)
v = tl.load(x + p * n + i, mask=i < n, other=0.0)
tl.store(part + p * n + i, {unary(m.random, "v")}, mask=i < n)
tl.debug_barrier()
if {last}:
    acc = tl.zeros((BLOCK,), tl.float32)
    for q in range(tl.num_programs(0)):
        acc += tl.load(part + q * n + i, mask=i < n, other=0.0)
    tl.store(out + i, acc, mask=i < n)
""",
    )
    m.function(
        "x",
        "rows, n = x.shape\nout = torch.zeros(n, dtype=x.dtype)\npart = torch.empty_like(x)\n"
        "count = torch.zeros(1, dtype=torch.int32)\n"
        f"{name}[(rows,)](out, part, count, x, n, BLOCK=8)\nreturn out",
    )
    m.call(f"m.{m.launcher}(x)", {"x": m.shape}, wide=True)


FORMS: tuple[Callable[[Maker], None], ...] = (
    work_queue,
    lock,
    fix_up,
    two_names,
    at_distance,
    tree,
    halo,
    wavefront,
    largest,
    compaction,
    under_flag,
    by_steps,
    halves,
    running_total,
    told_row,
    finishing,
)
