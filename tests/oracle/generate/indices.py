"""Kernels whose addresses take numbers from memory, and views that these may lead out of."""

from __future__ import annotations

from tests.oracle.case import Input
from tests.oracle.generate.kit import expression, unary
from tests.oracle.generate.maker import Maker

ROWS = 8  # of the tensor that views are taken of

# Statements that make `at`, a row, of `index` (and `second`); in front of them stand `r` and `i`.
WAYS = (
    "at = tl.load(index + r)",
    "at = tl.load(index + r).to(tl.int64)",
    "at = tl.load(second + tl.load(index + r) + LOW)",
    "at = tl.load(index + r) // 2 + tl.load(index + r) - tl.load(index + r) // 2",
    "at = helper(index, r)",
    "at = tl.load(index + r) * 1 + r * 0",
    "at = r * 0\nfor k in range(tl.load(index + r) + LOW):\n    at += 1\nat -= LOW",
    "at = r * 0 - LOW\nwhile at < tl.load(index + r):\n    at += 1",
    "at = tl.load(index + r)\nif tl.load(second + r) > 100:\n    at = r",
    "at = tl.sum(tl.where(i == 0, tl.load(index + r), 0))",
    "at = tl.load(index + r + i * 0)",
    "at = tl.load(index + r)\nat = tl.where(at > 100, 0, at)",
)
# How a place of row `at` is addressed; {0} is the tensor.
PLACES = (
    "{0} + at * ld + i",
    "{0} + (at * ld + i)",
    "{0} + i + ld * at",
    "({0} + i) + at * ld",
    "({0} + at * ld) + i",
)
VIEWS = (  # as Python, first row, rows, columns cut
    ("{0}", 0, ROWS),
    ("{0}[2:]", 2, ROWS - 2),
    ("{0}[2:6]", 2, 4),
    ("{0}[:5]", 0, 5),
    ("{0}[1:][1:4]", 2, 3),
    ("{0}.narrow(0, 3, 4)", 3, 4),
    ("{0}.chunk(2)[1]", 4, 4),
    ("{0}[2:, 1:4]", 2, ROWS - 2),
    ("{0}.view(2, 4, -1)[1]", 4, 4),
)


def drawn_indices(m: Maker, first: int, rows: int, count: int, distinct: bool) -> list[int]:
    """Rows of a view; of the tensor that it is of, around the view, in one call of two."""
    inside, outside = (
        list(range(rows)),
        [k - first for k in range(ROWS) if k not in range(first, first + rows)],
    )
    chosen = m.random.sample(inside, min(count, rows))
    while len(chosen) < count:
        chosen.append(chosen[0] if distinct is False else m.random.choice(inside))
    if outside and m.chance(0.5):
        chosen[m.random.randrange(count)] = m.random.choice(outside)
    return chosen


def kernel(m: Maker, name: str, form: str) -> None:
    """A kernel of this form; of `x` or `o` the rows are from memory."""
    way, place = m.pick(*WAYS), m.pick(*PLACES)
    value = unary(m.random, "a")
    loads = {
        "gather": f"a = tl.load({place.format('x')}, mask=i < d, other=0.0)\n",
        "in_place": f"a = tl.load({place.format('o')}, mask=i < d, other=0.0)\n"
        "b = tl.load(x + r * d + i, mask=i < d, other=0.0)\n",
    }.get(form, "a = tl.load(x + r * d + i, mask=i < d, other=0.0)\n")
    if form == "in_place":
        value = m.pick(expression(m.random, ["a", "b"]), "a + b * b", "a * 0.5 + b")
    stores = {
        "gather": "tl.store(o + r * d + i, {0}, mask=i < d)",
        "add": f"tl.atomic_add({place.format('o')}, {{0}}, mask=i < d)",
    }.get(form, f"tl.store({place.format('o')}, {{0}}, mask=i < d)")
    lines = ["r = tl.program_id(0)", "i = tl.arange(0, BLOCK)", *str(way).split("\n")]
    lines += [*loads.strip("\n").split("\n"), stores.format(value)]
    if m.chance(0.2):
        lines = [*lines[:2], "if r < n:", *("    " + line for line in lines[2:])]
    body = "\n".join("    " + line for line in lines)
    if "helper(" in str(way):
        m.file.add(
            "@triton.jit\ndef helper(index, r):\n    found = tl.load(index + r)\n    return found\n"
        )
    m.file.add(
        f"@triton.jit\ndef {name}(o, x, index, second, d, ld, n, LOW: tl.constexpr,"
        f" BLOCK: tl.constexpr):\n{body}\n"
    )


def rows(m: Maker) -> None:
    """A row each, read or written where an index says."""
    form = ("gather", "scatter", "add", "in_place")[m.seed % 4]
    name = m.file.names.fresh(("index_kernel", "pick_rows", "place_rows", "_fwd"))
    kernel(m, name, form)
    view, first, size = m.random.choice(VIEWS)
    count, columns, low = m.random.randint(2, 3), m.pick(3, 5), ROWS
    indices = drawn_indices(m, first, size, count, distinct=form in ("scatter", "in_place"))
    inside = m.chance(0.5)
    given = str(view).format("x" if form == "gather" else "o")
    body = "n, d = index.shape[0], x.shape[1]\n"
    launch = f"{name}[(n,)]({{0}}, {{1}}, index, second, d, {{2}}.stride(0), n, LOW={low}, BLOCK=8)"
    if form == "gather":
        body += f"x = {given}\nd = x.shape[1]\n" if inside else ""
        body += "o = torch.empty(n, d, dtype=x.dtype)\n" + launch.format("o", "x", "x")
        call, sources = ("x" if inside else given), {"x": [ROWS, columns]}
    else:
        made = m.pick("torch.zeros", "torch.ones")
        body += "o = y * 1.0\n" if form == "in_place" else f"o = {made}({ROWS}, 5, dtype=x.dtype)\n"
        body += f"v = {given}\n" + launch.format("v", "x", "v")
        call, sources = "x", {"x": [count, 3]}
    body += f"\nreturn {m.pick('o', 'o * 2.0', 'o + 0.0')}"
    parameters = "x, index, second" + (", y" if form == "in_place" else "")
    m.function(parameters, body)
    inputs = {
        **sources,
        "index": Input([count], dtype=m.pick("int64", "int32"), grad=False, values=indices),
        "second": Input([2 * ROWS], dtype="int64", grad=False, values=list(range(-ROWS, ROWS))),
    }
    if form == "in_place":
        inputs["y"] = [ROWS, 5]
    arguments = f"{call}, index, second" + (", y" if form == "in_place" else "")
    m.call(f"m.{m.launcher}({arguments})", inputs)  # type: ignore[arg-type]


def lanes(m: Maker) -> None:
    """An index for each lane; two and three levels; pages; ends of rows."""
    name = m.file.names.fresh(("lanes_kernel", "paged", "flat_index"))
    at = "p = tl.load(index + r * n + i, mask=i < n, other=0)\n"
    page = "p = tl.load(index + r * n + i // 2, mask=i < n, other=0) * 2 + i % 2\n"
    ways = (
        at + "a = tl.load(x + p, mask=i < n, other=0.0)",
        at + "a = tl.load(x + p, mask=(i < n) & (p < 30), other=0.0)",
        page + "a = tl.load(x + p, mask=i < n, other=0.0)",
        "e = tl.load(index + r * n)\na = tl.load(x + 2 * r + i, mask=i < e + 3, other=0.0)",
        at + "a = tl.load(x + tl.maximum(p, -2), mask=i < n, other=0.0)",
        "q = x + r * 2\n"
        "for k in range(2):\n"
        "    q += tl.load(index + r * n + k)\n"
        "a = tl.load(q + i, mask=i < 2, other=0.0)",
    )
    way = ways[m.seed // 2 % len(ways)]
    lines = ["r = tl.program_id(0)", "i = tl.arange(0, BLOCK)", *way.split("\n")]
    lines += [f"tl.store(o + r * BLOCK + i, {unary(m.random, 'a')})"]
    body = "\n".join("    " + line for line in lines)
    m.file.add(f"@triton.jit\ndef {name}(o, x, index, n, BLOCK: tl.constexpr):\n{body}\n")
    first = m.pick(6, 10)
    values = [m.random.randrange(0, 4) for _ in range(6)]
    if m.chance(0.6):
        values[m.random.randrange(6)] = m.pick(-1, -2, -3)
    size = m.pick(8, 12)
    m.function(
        "x, index",
        f"o = torch.empty(2, 8, dtype=x.dtype)\n{name}[(2,)](o, x, index, 3, BLOCK=8)\nreturn o",
    )
    inputs = {"x": [40], "index": Input([6], dtype="int64", grad=False, values=values)}
    given = m.pick(f"x[{first}:]", f"x[{first}:{first + int(size)}]", f"x.view(-1)[{first}:][:20]")
    m.call(f"m.{m.launcher}({given}, index)", inputs)  # type: ignore[arg-type]


def indices(m: Maker) -> None:
    """Addresses from memory, into views."""
    (lanes if m.seed % 3 == 2 else rows)(m)
