"""Launchers of other shapes: tiles, products, windows, scatters; and other uses of what a launcher returns."""

from __future__ import annotations

from tests.oracle.case import Input
from tests.oracle.generate.kit import expression, unary
from tests.oracle.generate.maker import Maker


def uses(m: Maker) -> None:
    """What the caller does: some inputs without gradient, some outputs unused, called twice, in graphs of its own."""
    n_out = m.pick(1, 2, 2)
    k = m.file.kernel(2, n_out)
    outs = ["out", "aux"][:n_out]
    allocate = "\n".join(f"{o} = {m.output('x')}" for o in outs)
    m.function(
        "x, w", f"{allocate}\n{m.launch(k, ['x', 'w'], outs, 'x')}\nreturn {', '.join(outs)}"
    )
    run, last = f"m.{m.launcher}", "[-1]" if n_out == 2 else ""
    first = "[0]" if n_out == 2 else ""
    both = {"x": Input(m.shape), "w": Input(m.shape)}
    forms = [
        (f"{run}(x, w){last}", {**both, "x": Input(m.shape, grad=False)}),
        (f"{run}(x, w){first}", {**both, "w": Input(m.shape, grad=False)}),
        (f"{run}(x, w){first} + {run}(w, x){last}", both),
        (f"{run}({run}(x, w){first} * 0.5, x){last}", both),
        (f"{run}(x * w, torch.sin(w)){first}.t() * 2", both),
        (f"{run}(x, x){last}", {"x": Input(m.shape)}),
        (f"{run}(x, w){first}[:1]", both),
        (f"{run}(x, w){last}.sum(0).expand(3, -1)", both),
        (f"{run}(x.contiguous(), w.clone()){first}.view(-1)[::2]", both),
        (f"torch.stack([{run}(x, w){first}, {run}(x * 2, w){last}]).mean(0)", both),
    ]
    call, inputs = forms[m.seed % len(forms)]
    m.call(call, inputs)


def tiles(m: Maker) -> None:
    """Two-dimensional tiles, products, windows, scatters and scans."""
    forms = [
        transposed_tile,
        product,
        window,
        scatter,
        scanned,
        three_axes,
        grouped_rows,
        pooled,
        broadcast_grid,
    ]
    forms[m.seed % len(forms)](m)


def transposed_tile(m: Maker) -> None:
    name = m.file.names.fresh(("transpose_act", "flip_tile"))
    m.file.add(
        f"""
@triton.jit
def {name}(o, x, w, M, N, BM: tl.constexpr, BN: tl.constexpr):
    i = tl.program_id({m.pick(0, 1)}) * BM + tl.arange(0, BM)
    j = tl.program_id(AXIS) * BN + tl.arange(0, BN)
    ok = (i[:, None] < M) & (j[None, :] < N)
    a = tl.load(x + i[:, None] * N + j[None, :], mask=ok, other=0.0)
    b = tl.load(w + j, mask=j < N, other=0.0)[None, :]
    r = {expression(m.random, ["a", "b"])}
    tl.store(o + j[{m.pick("None, :", "None, :")}] * M + i[:, None], r, mask=ok)
"""
    )
    text = m.file.parts[-1]
    rows_first = "i = tl.program_id(0)" in text
    m.file.parts[-1] = text.replace("AXIS", "1" if rows_first else "0")
    grid = (
        "(triton.cdiv(M, 4), triton.cdiv(N, 4))"
        if rows_first
        else "(triton.cdiv(N, 4), triton.cdiv(M, 4))"
    )
    m.function(
        "x, w",
        "M, N = x.shape\no = torch.empty(N, M, dtype=x.dtype)\n"
        f"{name}[{grid}](o, x, w, M, N, BM=4, BN=4)\nreturn o",
    )
    m.call(f"m.{m.launcher}(x, w)", {"x": [5, 6], "w": [6]})


def product(m: Maker) -> None:
    name = m.file.names.fresh(("gemm", "project", "mm_act"))
    turned = m.chance(0.5)
    place = "w + j[None, :] * K + k[:, None]" if turned else "w + k[:, None] * N + j[None, :]"
    m.file.add(
        f"""
@triton.jit
def {name}(o, x, w, b, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    i = tl.program_id(0) * BM + tl.arange(0, BM)
    j = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(0, {m.pick("K, BK", "tl.cdiv(K, BK) * BK, BK")}):
        k = start + tl.arange(0, BK)
        a = tl.load(x + i[:, None] * K + k[None, :], mask=(i[:, None] < M) & (k[None, :] < K), other=0.0)
        c = tl.load({place}, mask=(k[:, None] < K) & (j[None, :] < N), other=0.0)
        acc {m.pick("+= tl.dot(a, c)", "= tl.dot(a, c, acc)")}
    t = tl.load(b + j, mask=j < N, other=0.0)[None, :]
    r = {expression(m.random, ["acc", "t"])}
    tl.store(o + i[:, None] * N + j[None, :], r, mask=(i[:, None] < M) & (j[None, :] < N))
"""
    )
    width = "w.shape[0]" if turned else "w.shape[1]"
    m.function(
        "x, w, b",
        f"M, K = x.shape\nN = {width}\no = torch.empty(M, N, dtype=x.dtype)\n"
        f"{name}[(triton.cdiv(M, 16), triton.cdiv(N, 16))](o, x, w, b, M, N, K, BM=16, BN=16, BK=16)\n"
        "return o",
    )
    k, n = m.random.choice([18, 33]), m.random.choice([16, 19])
    m.call(
        f"m.{m.launcher}(x, w, b)",
        {"x": [17, k], "w": [n, k] if turned else [k, n], "b": [n]},
        wide=True,
    )


def window(m: Maker) -> None:
    """Neighbours within a row, with a bound at its ends."""
    name = m.file.names.fresh(("stencil", "smooth3", "conv3"))
    reach = m.random.choice([1, 2])
    m.file.add(
        f"""
@triton.jit
def {name}(o, x, w, n, BLOCK: tl.constexpr, R: tl.constexpr):
    r = tl.program_id(1)
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    acc = tl.zeros([BLOCK], tl.float32)
    for d in {m.pick("tl.static_range(-R, R + 1)", "range(-R, R + 1)")}:
        t = tl.load(x + r * n + i + d, mask=(i + d >= 0) & (i + d < n), other=0.0)
        acc += {expression(m.random, ["t", "tl.load(w + d + R)"], 1)}
    tl.store(o + r * n + i, acc, mask=i < n)
"""
    )
    m.function(
        "x, w",
        f"o = {m.output('x')}\n"
        f"{name}[(triton.cdiv(x.shape[1], 4), x.shape[0])](o, x, w, x.shape[1], BLOCK=4, R={reach})\n"
        "return o",
    )
    m.call(f"m.{m.launcher}(x, w)", {"x": [2, 7], "w": [2 * reach + 1]}, wide=True)


def scatter(m: Maker) -> None:
    """Rows are added where an index says, several to one."""
    name = m.file.names.fresh(("scatter_add", "segment_sum"))
    m.file.add(
        f"""
@triton.jit
def {name}(o, x, w, idx, n, BLOCK: tl.constexpr):
    r = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    t = tl.load(idx + r)
    a = tl.load(x + r * n + i, mask=i < n, other=0.0)
    b = tl.load(w + r)
    tl.atomic_add(o + t * n + i, {expression(m.random, ["a", "b"])}, mask=i < n)
"""
    )
    m.function(
        "x, w, idx",
        "o = torch.zeros(3, x.shape[1], dtype=x.dtype)\n"
        f"{name}[(x.shape[0],)](o, x, w, idx, x.shape[1], BLOCK=8)\nreturn o",
    )
    ids = Input([4], "int64", grad=False, low=0, high=2)
    m.call(f"m.{m.launcher}(x, w, idx)", {"x": [4, 5], "w": [4], "idx": ids})


def scanned(m: Maker) -> None:
    name = m.file.names.fresh(("running_sum", "scan_act"))
    inner = unary(m.random, "v")
    scan = m.pick(
        "tl.cumsum({0}, axis=0)", "tl.cumsum({0}, 0, reverse=True)", "tl.cumprod(1.0 + 0.2 * tl.sin({0}), 0)",
        "tl.associative_scan({0}, 0, plus)", "tl.sum({0}) - {0}", "tl.flip({0}, 0)",
    )  # fmt: skip
    if "plus" in scan:
        m.file.add("@triton.jit\ndef plus(a, b):\n    return a + b")
    m.file.add(
        f"""
@triton.jit
def {name}(o, x, w, n, BLOCK: tl.constexpr):
    r = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + r * n + i, mask=i < n, other=0.0)
    s = {scan.format(f"tl.where(i < n, {inner}, 0.0)")}
    b = tl.load(w + i, mask=i < n, other=0.0)
    tl.store(o + r * n + i, {expression(m.random, ["s", "b"])}, mask=i < n)
"""
    )
    m.function(
        "x, w",
        f"o = {m.output('x')}\n{name}[(x.shape[0],)](o, x, w, x.shape[1], BLOCK=8)\nreturn o",
    )
    m.call(f"m.{m.launcher}(x, w)", {"x": [3, 6], "w": [6]})


def three_axes(m: Maker) -> None:
    name = m.file.names.fresh(("batch_heads", "cube"))
    axes = m.random.sample(["0", "1", "2"], 3)
    grid = [""] * 3
    for axis, size in zip(
        axes, ("x.shape[0]", "x.shape[1]", "triton.cdiv(x.shape[2], 4)"), strict=True
    ):
        grid[int(axis)] = size
    m.file.add(
        f"""
@triton.jit
def {name}(o, x, w, H, N, BLOCK: tl.constexpr):
    b = tl.program_id({axes[0]})
    h = tl.program_id({axes[1]})
    i = tl.program_id({axes[2]}) * BLOCK + tl.arange(0, BLOCK)
    at = (b * H + h) * N + i
    v = tl.load(x + at, mask=i < N, other=0.0)
    g = tl.load(w + h{m.pick("", " * N + i, mask=i < N, other=0.0")})
    tl.store(o + at, {expression(m.random, ["v", "g"])}, mask=i < N)
"""
    )
    wide = "h * N" in m.file.parts[-1]
    m.function(
        "x, w",
        f"o = {m.output('x')}\n"
        f"{name}[({', '.join(grid)})](o, x, w, x.shape[1], x.shape[2], BLOCK=4)\n"
        "return o",
    )
    m.call(f"m.{m.launcher}(x, w)", {"x": [2, 3, 6], "w": [3, 6] if wide else [3]})


def grouped_rows(m: Maker) -> None:
    """Several rows of queries share one row of keys."""
    name = m.file.names.fresh(("grouped", "shared_kv"))
    m.file.add(
        f"""
@triton.jit
def {name}(o, q, k, n, GROUP: tl.constexpr, BLOCK: tl.constexpr):
    h = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    a = tl.load(q + h * n + i, mask=i < n, other=0.0)
    b = tl.load(k + (h // GROUP) * n + i, mask=i < n, other=0.0)
    s = tl.sum(a * b)
    tl.store(o + h * n + i, {expression(m.random, ["b", "s"], 1)}, mask=i < n)
"""
    )
    m.function(
        "q, k",
        "o = torch.empty_like(q)\ngroup = q.shape[0] // k.shape[0]\n"
        f"{name}[(q.shape[0],)](o, q, k, q.shape[1], GROUP=group, BLOCK=8)\nreturn o",
    )
    m.call(f"m.{m.launcher}(q, k)", {"q": [6, 5], "k": [m.pick(2, 3), 5]})


def pooled(m: Maker) -> None:
    """A reduction over rows in blocks, the result in a column."""
    name = m.file.names.fresh(("column_pool", "pool_rows"))
    how = m.pick(
        "tl.sum({0}, axis=0)",
        "tl.max(tl.where(ok, {0}, -float('inf')), axis=0)",
        "tl.sum({0} * {0}, 0)",
    )
    m.file.add(
        f"""
@triton.jit
def {name}(o, x, M, N, BM: tl.constexpr, BN: tl.constexpr):
    i = tl.arange(0, BM)[:, None]
    j = tl.program_id(0) * BN + tl.arange(0, BN)
    ok = (i < M) & (j[None, :] < N)
    v = tl.load(x + i * N + j[None, :], mask=ok, other=0.0)
    t = {how.format(f"tl.where(ok, {unary(m.random, 'v')}, 0.0)")}
    tl.store(o + j, {unary(m.random, "t")}, mask=j < N)
"""
    )
    m.function(
        "x",
        "M, N = x.shape\no = torch.empty(N, dtype=x.dtype)\n"
        f"{name}[(triton.cdiv(N, 4),)](o, x, M, N, BM=8, BN=4)\nreturn o",
    )
    m.call(f"m.{m.launcher}(x)", {"x": [5, 6]})


def broadcast_grid(m: Maker) -> None:
    """A flat grid that the kernel takes apart."""
    name = m.file.names.fresh(("flat_grid", "swizzled"))
    m.file.add(
        f"""
@triton.jit
def {name}(o, x, w, rows, n, BLOCK: tl.constexpr):
    p = tl.program_id(0)
    blocks = tl.cdiv(n, BLOCK)
    r, c = {m.pick("p // blocks, p % blocks", "p % rows, p // rows")}
    i = c * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + r * n + i, mask=i < n, other=0.0)
    b = tl.load(w + r) * tl.load(w + rows - 1 - r)
    tl.store(o + r * n + i, {expression(m.random, ["a", "b"])}, mask=i < n)
"""
    )
    m.function(
        "x, w",
        f"o = {m.output('x')}\nrows, n = x.shape\n"
        f"{name}[(rows * triton.cdiv(n, 4),)](o, x, w, rows, n, BLOCK=4)\nreturn o",
    )
    m.call(f"m.{m.launcher}(x, w)", {"x": [3, 6], "w": [3]})
