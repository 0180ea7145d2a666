"""Launchers whose tensors share memory: views, one tensor under two names, stand-ins, reads beyond a view."""

from __future__ import annotations

from tests.oracle.case import Input
from tests.oracle.generate.kit import expression
from tests.oracle.generate.maker import Maker


def views(m: Maker) -> None:
    """Slices, transposes, packed inputs, interleaved outputs; in the launcher or at its call."""
    [sliced, transposed, packed, interleaved, row_of_batch, overlapping_inputs, expanded, diagonal][
        m.seed % 8
    ](m)


def sliced(m: Maker) -> None:
    k = m.strided(m.pick(1, 2), 1)
    cut = m.pick(
        "[:, 1:5]", "[:, ::2]", "[1:]", "[::2]", "[:, 2:]", "[:-1, 1:]", ".narrow(1, 1, 4)"
    )
    names = ["x", "w"][: len(k.inputs)]
    inside = m.chance(0.5)
    body = [f"{n} = {n}{cut}" for n in names] if inside else []
    body += [f"out = torch.empty({names[0]}.shape, dtype=x.dtype)"]
    body += [k.launch(names, ["out"], "x.shape[0]", "x.shape[1]", 8), "return out"]
    m.function(", ".join(names), "\n".join(body))
    given = names if inside else [f"{n}{cut}" for n in names]
    m.call(f"m.{m.launcher}({', '.join(given)})", {n: [4, 8] for n in names})


def transposed(m: Maker) -> None:
    k = m.strided(1, 1)
    turn = m.pick(".t()", ".T", ".transpose(0, 1)", ".permute(1, 0)", ".mT")
    turn = ".t()" if turn == ".mT" else turn
    if m.chance(0.5):
        body = f"xt = x{turn}\nout = torch.empty(xt.shape, dtype=x.dtype)\n"
        body += k.launch(["xt"], ["out"], "xt.shape[0]", "xt.shape[1]", 8) + "\nreturn out"
    else:
        body = f"out = torch.empty(x.shape[1], x.shape[0], dtype=x.dtype){turn}\n"
        body += k.launch(["x"], ["out"], "x.shape[0]", "x.shape[1]", 8)
        body += m.pick("\nreturn out", f"\nreturn out{turn}", "\nreturn out.contiguous()")
    m.function("x", body)
    given = m.pick("x", "x.t()", "x[:, 1:]", "x.t()[1:]")
    m.call(f"m.{m.launcher}({given})", {"x": [5, 6]})


def packed(m: Maker) -> None:
    k = m.strided(3, 1)
    way = m.pick("unbind", "chunk", "index", "split")
    if way == "chunk":
        take, shape = "q, k, v = qkv.chunk(3, dim=-1)", [4, 15]
    elif way == "split":
        take, shape = "q, k, v = qkv.split(5, dim=1)", [4, 15]
    elif way == "unbind":
        take, shape = "q, k, v = qkv.unbind(1)", [4, 3, 5]
    else:
        take, shape = "q, k, v = qkv[:, 0], qkv[:, 1], qkv[:, 2]", [4, 3, 5]
    body = take + "\nout = torch.empty(q.shape, dtype=q.dtype)\n"
    body += k.launch(["q", "k", "v"], ["out"], "q.shape[0]", "q.shape[1]", 8) + "\nreturn out"
    m.function("qkv", body)
    if m.chance(0.5):
        m.call(f"m.{m.launcher}(qkv)", {"qkv": shape})
    else:
        m.call(f"m.{m.launcher}(qkv * 1.0) + qkv.sum()", {"qkv": shape})


def interleaved(m: Maker) -> None:
    k = m.strided(1, 2)
    way = m.pick(("[:, ::2]", "[:, 1::2]"), ("[:, :5]", "[:, 5:]"))
    body = "both = torch.empty(x.shape[0], 2 * x.shape[1], dtype=x.dtype)\n"
    body += f"first, second = both{way[0]}, both{way[1]}\n"
    body += k.launch(["x"], ["first", "second"], "x.shape[0]", "x.shape[1]", 8)
    body += m.pick(
        "\nreturn both", "\nreturn both * 2", "\nreturn first, second", "\nreturn both, first"
    )
    m.function("x", body)
    m.call(f"m.{m.launcher}(x)", {"x": [3, 5]})


def row_of_batch(m: Maker) -> None:
    k = m.file.kernel(2, 1)
    body = f"out = {m.output('x')}\nfor i in range(x.shape[0]):\n    "
    body += m.launch(
        k, ["x[i]", "w"], ["out[i]"], "w", grid=None if not k.rows else "(w.shape[0],)"
    )
    m.function("x, w", body + "\nreturn out")
    m.call(f"m.{m.launcher}(x, w)", {"x": [2, *m.shape], "w": m.shape})


def overlapping_inputs(m: Maker) -> None:
    k = m.strided(2, 1)
    first, second = m.pick(("[:-1]", "[1:]"), ("[:, :-1]", "[:, 1:]"), ("[:2]", "[1:3]"))
    body = f"a, b = x{first}, x{second}\nout = torch.empty(a.shape, dtype=x.dtype)\n"
    body += k.launch(["a", "b"], ["out"], "a.shape[0]", "a.shape[1]", 8) + "\nreturn out"
    m.function("x", body)
    m.call(f"m.{m.launcher}(x)", {"x": [4, 6]})


def expanded(m: Maker) -> None:
    k = m.strided(2, 1)
    body = "w = w.expand(x.shape)\n" if m.chance(0.7) else "w = torch.broadcast_to(w, x.shape)\n"
    if m.chance(0.5):
        body += "w = w.contiguous()\n"
    body += f"out = {m.output('x')}\n"
    body += k.launch(["x", "w"], ["out"], "x.shape[0]", "x.shape[1]", 8) + "\nreturn out"
    m.function("x, w", body)
    m.call(f"m.{m.launcher}(x, w)", {"x": [3, 5], "w": m.pick([5], [1, 5], [3, 1])})


def diagonal(m: Maker) -> None:
    k = m.strided(1, 1)
    cut = m.pick(
        "x.diagonal().unsqueeze(0)",
        "x.view(-1)[2:8].view(2, 3)",
        "x.as_strided((2, 3), (7, 2), 1)",
        "x.select(0, 1).view(2, 3)",
    )
    body = f"v = {cut}\nout = torch.empty(v.shape, dtype=x.dtype)\n"
    body += k.launch(["v"], ["out"], "v.shape[0]", "v.shape[1]", 8) + "\nreturn out"
    m.function("x", body)
    m.call(f"m.{m.launcher}(x)", {"x": [4, 6]})


def aliases(m: Maker) -> None:
    """One tensor, or views of one, for several parameters, some of them written."""
    [
        same_inputs,
        in_place,
        residual,
        scratch,
        shifted_states,
        overlapping_outputs,
        slot_of_cache,
        in_place_then_read,
        caller_aliases,
        in_place_view,
    ][m.seed % 10](m)


def same_inputs(m: Maker) -> None:
    k = m.file.kernel(3, 1)
    ins = m.pick(["x", "x", "w"], ["x", "w", "x"], ["x", "x", "x"], ["w", "x", "w"])
    m.function("x, w", f"out = {m.output('x')}\n{m.launch(k, ins, ['out'], 'x')}\nreturn out")
    m.call(f"m.{m.launcher}(x, w)", {"x": m.shape, "w": m.shape})


def in_place(m: Maker) -> None:
    k = m.file.kernel(2, 1)
    copy = m.pick("y = x.clone()\n", "y = x * 1.0\n", "")
    name = "y" if copy else "x"
    second = m.launch(k, [name, "w"], [name], "x") + "\n" if m.chance(0.4) else ""
    m.function("x, w", f"{copy}{m.launch(k, [name, 'w'], [name], 'x')}\n{second}return {name}")
    m.call(f"m.{m.launcher}(x, w)", {"x": Input(m.shape, in_place=not copy), "w": m.shape})


def residual(m: Maker) -> None:
    k = m.file.kernel(3, 2)
    order = m.pick(["x", "res", "w"], ["res", "x", "w"])
    body = f"out = {m.output('x')}\n{m.launch(k, order, ['out', 'res'], 'x')}\nreturn out" + m.pick(
        ", res", ""
    )
    m.function("x, res, w", body)
    call = m.pick(f"m.{m.launcher}(x, res, w)", f"(m.{m.launcher}(x, res, w), res * 2)")
    m.call(call, {"x": m.shape, "res": Input(m.shape, in_place=True), "w": m.shape})


def scratch(m: Maker) -> None:
    """What is stored through one parameter is loaded through another."""
    first, last = expression(m.random, ["v"]), expression(m.random, ["u", "v"])
    name = m.file.names.fresh(("two_phase", "staged", "spill"))
    m.file.add(
        f"""
@triton.jit
def {name}(out, wr, rd, x, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0.0)
    tl.store(wr + i, {first}, mask=i < n)
    tl.debug_barrier()
    u = tl.load(rd + i, mask=i < n, other=0.0)
    tl.store(out + i, {last}, mask=i < n)
"""
    )
    given = m.pick(
        ("buf", "buf"), ("buf", "buf.view(-1)"), ("buf[:]", "buf"), ("buf.view(-1)", "buf.view(-1)")
    )
    body = f"buf = {m.output('x')}\nout = {m.output('x')}\n"
    body += (
        f"{name}[(triton.cdiv(x.numel(), 8),)](out, {given[0]}, {given[1]}, x, x.numel(), BLOCK=8)\n"
        "return out"
    )
    m.function("x", body)
    m.call(f"m.{m.launcher}(x)", {"x": m.shape})


def shifted_states(m: Maker) -> None:
    step = expression(m.random, ["h", "v"], 1)
    name = m.file.names.fresh(("recur", "scan_rows", "rnn_fwd"))
    m.file.add(
        f"""
@triton.jit
def {name}(new, old, x, T, D: tl.constexpr):
    c = tl.arange(0, D)
    for t in range(T):
        h = tl.load(old + t * D + c)
        v = tl.load(x + t * D + c)
        tl.store(new + t * D + c, {step})
"""
    )
    start = m.pick("torch.zeros(T + 1, D, dtype=x.dtype)", "torch.ones(T + 1, D, dtype=x.dtype)")
    body = f"T, D = x.shape\nhs = {start}\n{name}[(1,)](hs[1:], hs, x, T, D=D)\nreturn hs[1:]"
    if m.chance(0.3):
        body = (
            "T, D = x.shape\n"
            "hs = torch.cat([h0[None], torch.empty_like(x)])\n"
            f"{name}[(1,)](hs[1:], hs, x, T, D=D)\n"
            "return hs"
        )
        m.function("x, h0", body)
        m.call(f"m.{m.launcher}(x, h0)", {"x": [4, 8], "h0": [8]})
        return
    m.function("x", body)
    m.call(f"m.{m.launcher}(x)", {"x": [m.rows, 8]})


def overlapping_outputs(m: Maker) -> None:
    a, b = expression(m.random, ["v"]), expression(m.random, ["v"])
    stores = ["tl.store(first + i, {0}, mask=i < n)", "tl.store(second + i, {1}, mask=i < n)"]
    m.random.shuffle(stores)
    text = "\n    tl.debug_barrier()\n    ".join(stores).format(a, b)
    name = m.file.names.fresh(("both_ends", "two_stores"))
    m.file.add(
        f"""
@triton.jit
def {name}(first, second, x, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0.0)
    {text}
"""
    )
    cut = m.pick("n // 2", "1", "n", "0")
    body = (
        "n = x.numel()\n"
        "big = torch.zeros(2 * n, dtype=x.dtype)\n"
        f"{name}[(1,)](big, big[{cut}:], x, n, BLOCK=32)\n"
        "return big"
    )
    m.function("x", body)
    m.call(f"m.{m.launcher}(x)", {"x": [m.random.randint(4, 20)]})


def slot_of_cache(m: Maker) -> None:
    name = m.file.names.fresh(("append", "decode_step"))
    m.file.add(
        f"""
@triton.jit
def {name}(slot, cache, new, q, o, S, D: tl.constexpr):
    c = tl.arange(0, D)
    v = tl.load(new + c)
    tl.store(slot + c, {expression(m.random, ["v"])})
    tl.debug_barrier()
    qq = tl.load(q + c)
    acc = tl.zeros((D,), tl.float32)
    for s in range(S):
        kk = tl.load(cache + s * D + c)
        acc += kk * tl.sum(kk * qq)
    tl.store(o + c, acc)
"""
    )
    where = m.pick(
        "cache[pos]", "cache[pos:]", "cache[pos:pos + 1]", "cache.view(-1)[pos * q.numel():]"
    )
    m.function(
        "cache, new, q, pos",
        "o = torch.empty_like(q)\n"
        f"{name}[(1,)]({where}, cache, new, q, o, pos + 1, D=q.numel())\n"
        "return o",
    )
    m.call(
        f"m.{m.launcher}(cache, new, q, 2)",
        {"cache": Input([4, 8], in_place=True), "new": [8], "q": [8]},
    )


def in_place_then_read(m: Maker) -> None:
    first, second = m.file.kernel(2, 1), m.file.kernel(2, 1)
    body = (
        f"{m.launch(first, ['x', 'w'], ['x'], 'x')}\n"
        f"out = {m.output('x')}\n"
        f"{m.launch(second, ['x', 'w'], ['out'], 'x')}\n"
    )
    m.function("x, w", body + m.pick("return out", "return out + x", "return out, x"))
    m.call(f"m.{m.launcher}(x, w)", {"x": Input(m.shape, in_place=True), "w": m.shape})


def caller_aliases(m: Maker) -> None:
    """The launcher is innocent; its caller gives one tensor twice."""
    k = m.file.kernel(2, 1)
    m.function("x, w, out", f"{m.launch(k, ['x', 'w'], ['out'], 'x')}\nreturn out")
    call = m.pick(
        "(lambda y: m.{0}(y, w, y))(x * 1)",
        "(lambda y: m.{0}(w, y, y))(x * 1)",
        "m.{0}(x, x, torch.empty_like(w))",
        "m.{0}(x, w, torch.empty_like(w))",
    )
    m.call(call.format(m.launcher), {"x": m.shape, "w": m.shape})


def in_place_view(m: Maker) -> None:
    """A part of a tensor is written in place; the rest has its gradient, too."""
    k = m.strided(1, 1)
    cut = m.pick("[:, 2:]", "[1:]", "[:, ::2]", "[0:2]")
    body = (
        "y = x.clone()\n"
        f"v = y{cut}\n" + k.launch(["v"], ["v"], "v.shape[0]", "v.shape[1]", 8) + "\n"
        "return y"
    )
    m.function("x", body)
    m.call(f"m.{m.launcher}(x)", {"x": [3, 6]})


def dummies(m: Maker) -> None:
    """Something stands in for a tensor that nobody wants."""
    [dummy_output, dummy_input, dummy_both][m.seed % 3](m)


def dummy_output(m: Maker) -> None:
    k = m.file.kernel(m.pick(1, 2), 2, flag_outputs=True)
    names = ["x", "w"][: len(k.inputs)]
    stand_in = m.pick(
        "y",
        "None",
        "torch.empty(0, dtype=x.dtype)",
        "x",
        "0",
        "y.view(-1)",
        "torch.empty(1, dtype=x.dtype)",
        "y[:1]",
    )
    flag = m.pick("extra", "extra is not None", "extra")
    flag = "extra"
    body = f"y = {m.output('x')}\nz = {m.output('x')} if extra else {stand_in}\n"
    body += m.launch(k, names, ["y", "z"], "x", **{k.flags[0]: flag}) + "\n"
    body += m.pick("return (y, z) if extra else y", "if extra:\n    return y, z\nreturn y")
    m.function(", ".join([*names, "extra=False"]), body)
    given = ", ".join(names)
    for last in ("", ", True", ", extra=False"):
        m.call(f"m.{m.launcher}({given}{last})", dict.fromkeys(names, m.shape))


def dummy_input(m: Maker) -> None:
    name = m.file.names.fresh(("with_bias", "maybe_add", "affine"))
    then, otherwise = expression(m.random, ["v", "b"]), expression(m.random, ["v"])
    m.file.add(
        f"""
@triton.jit
def {name}(o_ptr, x_ptr, b_ptr, n, HAS: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x_ptr + i, mask=i < n, other=0.0)
    if HAS:
        b = tl.load(b_ptr + i, mask=i < n, other=0.0)
        r = {then}
    else:
        r = {otherwise}
    tl.store(o_ptr + i, r, mask=i < n)
"""
    )
    stand_in = m.pick("x", "None", "torch.empty(0, dtype=x.dtype)", "o", "0", "x.view(-1)[:1]", "b")
    body = f"o = {m.output('x')}\n{name}[(triton.cdiv(x.numel(), 8),)](o, x, "
    body += f"b if b is not None else {stand_in}, x.numel(), HAS=b is not None, BLOCK=8)\nreturn o"
    m.function("x, b=None", body)
    m.call(f"m.{m.launcher}(x)", {"x": m.shape})
    m.call(f"m.{m.launcher}(x, b)", {"x": m.shape, "b": m.shape})


def dummy_both(m: Maker) -> None:
    """A literal call with stand-ins beside one without."""
    k = m.file.kernel(1, 3, flag_outputs=True)
    a, b = k.flags
    stand = m.pick(
        ["y", "y"], ["y", "x"], ["None", "None"], ["y", "None"], ["dummy", "dummy"], ["x", "x"]
    )
    body = (
        f"y = {m.output('x')}\n"
        "dummy = torch.empty(1, dtype=x.dtype)\n"
        + m.launch(k, ["x"], ["y", *stand], "x", **{a: "False", b: "False"})
        + "\n"
        "return y"
    )
    m.function("x", body)
    full = m.launcher + "_full"
    body = (
        f"y, s, t = {m.output('x')}, {m.output('x')}, {m.output('x')}\n"
        + m.launch(k, ["x"], ["y", "s", "t"], "x")
        + "\n"
        "return y, s, t"
    )
    m.function("x", body, full)
    m.call(f"m.{m.launcher}(x)", {"x": m.shape})
    m.call(f"m.{full}(x)", {"x": m.shape})


def beyond(m: Maker) -> None:
    """Kernels that reach outside of the view that they get."""
    form = m.seed % 6
    name = m.file.names.fresh(("neighbour", "halves", "reach"))
    a_b = expression(m.random, ["a", "b"])
    head = "r = tl.program_id(0)\n    i = tl.arange(0, BLOCK)\n    "
    load = "tl.load({0}, mask=i < n, other=0.0)"
    forms = [
        # what the kernel loads as b; what is passed; rows and columns of the output
        ("x + (r - 1) * ld + i", "x[1:]", "x.shape[0] - 1", "x.shape[1]"),
        ("x + r * ld + n + i", "x[:, :x.shape[1] // 2]", "x.shape[0]", "x.shape[1] // 2"),
        ("x + (r + 1) * ld + i", "x[0]", "x.shape[0] - 1", "x.shape[1]"),
        ("x + r * ld - 1 + i", "x[:, 1:]", "x.shape[0]", "x.shape[1] - 1"),
        ("x - r * ld + i", "x[-1:]", "x.shape[0]", "x.shape[1]"),
        ("x + r * ld + i + 1", "x[:, :-1]", "x.shape[0]", "x.shape[1] - 1"),
    ]
    other, given, rows, columns = forms[form]
    first = "x - r * ld + i" if form == 4 else "x + r * ld + i"
    m.file.add(
        f"""
@triton.jit
def {name}(o, x, ld, n, BLOCK: tl.constexpr):
    {head}a = {load.format(first)}
    b = {load.format(other)}
    tl.store(o + r * n + i, {a_b}, mask=i < n)
"""
    )
    body = f"rows, n = {rows}, {columns}\no = torch.empty(rows, n, dtype=x.dtype)\n"
    body += m.pick(
        f"{name}[(rows,)](o, {given}, x.stride(0), n, BLOCK=8)",
        f"v = {given}\n{name}[(rows,)](o, v, x.stride(0), n, BLOCK=8)",
    )
    m.function("x", body + "\nreturn o")
    m.call(f"m.{m.launcher}({m.pick('x', 'x * 1', 'x')})", {"x": [4, 6]})
