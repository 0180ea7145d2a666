"""Launchers with control flow: flags, loops over launches, chains, classes, grids, tuning."""

from __future__ import annotations

from tests.oracle.case import Input
from tests.oracle.generate.kit import expression, unary
from tests.oracle.generate.maker import Maker


def flags(m: Maker) -> None:
    """Constexprs and Python's `if` decide what is computed, stored and returned."""
    [
        switched_outputs,
        mode_string,
        mode_number,
        python_branch,
        optional_tensor,
        by_dtype,
        returns_differ,
    ][m.seed % 7](m)


def switched_outputs(m: Maker) -> None:
    k = m.file.kernel(m.pick(1, 2), 3, flag_outputs=True)
    names = ["x", "w"][: len(k.inputs)]
    a, b = k.flags
    body = (
        f"y = {m.output('x')}\n"
        f"s = {m.output('x')} if first else None\n"
        f"t = {m.output('x')} if second else None\n"
    )
    body += m.launch(
        k, names, ["y", "s", "t"], "x", **{a: m.pick("first", "s is not None"), b: "second"}
    )
    m.function(
        ", ".join([*names, "first=False", "second=True"]),
        body + "\nreturn [z for z in (y, s, t) if z is not None]",
    )
    for given in ("", ", True", ", False, False", ", first=True, second=False"):
        m.call(f"m.{m.launcher}({', '.join(names)}{given})", dict.fromkeys(names, m.shape))


def mode_string(m: Maker) -> None:
    name = m.file.names.fresh(("activate", "act_fwd", "with_mode"))
    words = m.random.sample(["relu6", "gelu", "silu", "sq", "id", "soft"], 3)
    m.file.add(
        f"""
@triton.jit
def {name}(x, o, n, ACT: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0.0)
    if ACT == "{words[0]}":
        v = {expression(m.random, ["v"])}
    elif ACT == "{words[1]}":
        v = {expression(m.random, ["v"])}
    tl.store(o + i, {unary(m.random, "v")}, mask=i < n)
"""
    )
    default = m.pick(repr(words[0]), '""', "None")
    m.function(
        f"x, act={default}",
        f"o = {m.output('x')}\n"
        f"{name}[(triton.cdiv(x.numel(), 8),)](x, o, x.numel(), ACT=act, BLOCK=8)\n"
        "return o",
    )
    for given in ("", *(f", {w!r}" for w in words)):
        m.call(f"m.{m.launcher}(x{given})", {"x": m.shape})


def mode_number(m: Maker) -> None:
    name = m.file.names.fresh(("power", "repeat", "unrolled"))
    loop = m.pick("tl.static_range(K)", "range(K)")
    m.file.add(
        f"""
@triton.jit
def {name}(o, x, n, K: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0.0)
    r = v
    for _ in {loop}:
        r = {expression(m.random, ["r", "v"], 1)}
    if K > 2:
        r = {unary(m.random, "r")}
    tl.store(o + i, r, mask=i < n)
"""
    )
    m.function(
        "x, k=2",
        f"o = {m.output('x')}\n"
        f"{name}[(triton.cdiv(x.numel(), 8),)](o, x, x.numel(), K=k, BLOCK=8)\n"
        "return o",
    )
    for given in ("", ", 0", ", 3"):
        m.call(f"m.{m.launcher}(x{given})", {"x": m.shape})


def python_branch(m: Maker) -> None:
    first, second = m.file.kernel(2, 1), m.file.kernel(2, 1)
    test = m.pick(
        "x.shape[0] > 2",
        "use_first",
        "x.numel() % 2 == 0",
        "w.dim() == 2 and use_first",
        "not use_first",
    )
    a, b = m.launch(first, ["x", "w"], ["out"], "x"), m.launch(second, ["x", "w"], ["out"], "x")
    body = f"out = {m.output('x')}\nif {test}:\n    {a}\nelse:\n    {b}\nreturn out"
    if m.chance(0.3):
        body = (
            f"out = {m.output('x')}\n"
            f"{a}\n"
            f"if {test}:\n"
            "    x = out\n"
            f"    out = {m.output('x')}\n"
            f"    {b}\n"
            "return out"
        )
    m.function("x, w, use_first=True", body)
    for given in ("", ", False"):
        m.call(f"m.{m.launcher}(x, w{given})", {"x": m.shape, "w": m.shape})


def optional_tensor(m: Maker) -> None:
    name = m.file.names.fresh(("maybe_scaled", "opt_args"))
    m.file.add(
        f"""
@triton.jit
def {name}(o, x, w, b, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0.0)
    if w is not None:
        v = v * tl.load(w + i, mask=i < n, other=0.0)
    if b is not None:
        v = v + {unary(m.random, "tl.load(b + i, mask=i < n, other=0.0)")}
    tl.store(o + i, {unary(m.random, "v")}, mask=i < n)
"""
    )
    m.function(
        "x, w=None, b=None",
        f"o = {m.output('x')}\n"
        f"{name}[(triton.cdiv(x.numel(), 8),)](o, x, w, b, x.numel(), BLOCK=8)\n"
        "return o",
    )
    for names in (["x"], ["x", "w"], ["x", "b"], ["x", "w", "b"]):
        given = ", ".join(n if n == "x" else f"{n}={n}" for n in names)
        m.call(f"m.{m.launcher}({given})", dict.fromkeys(names, m.shape))


def by_dtype(m: Maker) -> None:
    k = m.file.kernel(1, 2, flag_outputs=True)
    test = m.pick(
        "x.dtype == torch.float64", "x.dim() == 2", "x.requires_grad or True", "x.stride(-1) == 1"
    )
    body = f"save = {test}\ny = {m.output('x')}\ns = {m.output('x')}\n"
    body += (
        m.launch(k, ["x"], ["y", "s"], "x", **{k.flags[0]: "save"}) + "\n"
        "return (y, s) if save else y"
    )
    m.function("x", body)
    m.call(f"m.{m.launcher}(x)", {"x": m.shape})


def returns_differ(m: Maker) -> None:
    k = m.file.kernel(1, 2)
    body = f"y, s = {m.output('x')}, {m.output('x')}\n{m.launch(k, ['x'], ['y', 's'], 'x')}\n"
    body += m.pick(
        "return y",
        "return s",
        "return {'y': y, 's': s}",
        "return y + s",
        "return s, y",
        "return (y, (s, x))",
    )
    m.function("x", body)
    m.call(f"m.{m.launcher}(x)", {"x": m.shape})


def loops(m: Maker) -> None:
    """Launches in a loop: layers, ping-pong buffers, states."""
    [layers, ping_pong, collected, state_rows, while_halves, nested_loop, in_place_layers][
        m.seed % 7
    ](m)


def layers(m: Maker) -> None:
    k = m.file.kernel(2, 1)
    over, weight = m.pick(
        ("for i in range(ws.shape[0])", "ws[i]"),
        ("for w in ws", "w"),
        ("for i, w in enumerate(ws)", "w"),
        ("for i in range(len(ws))", "ws[i]"),
        ("for w in ws.unbind(0)", "w"),
        ("for i in reversed(range(3))", "ws[i]"),
    )
    h, out = m.pick(("x", "out"), ("h", "y"))
    start = "" if h == "x" else "h = x\n"
    body = (
        f"{start}{over}:\n"
        f"    {out} = {m.output(h)}\n"
        f"    {m.launch(k, [h, weight], [out], h)}\n"
        f"    {h} = {out}\n"
        f"return {h}"
    )
    m.function("x, ws", body)
    m.call(f"m.{m.launcher}(x, ws)", {"x": m.shape, "ws": [3, *m.shape]})


def ping_pong(m: Maker) -> None:
    k = m.file.kernel(2, 1)
    body = (
        f"a, b = {m.pick('x.clone()', 'x * 1', 'x')}, {m.output('x')}\n"
        "for _ in range(steps):\n"
        f"    {m.launch(k, ['a', 'w'], ['b'], 'x')}\n"
        "    a, b = b, "
    )
    body += m.pick("a", "torch.empty_like(a)") + "\nreturn a"
    m.function("x, w, steps", body)
    for steps in (1, 2, 3):
        call = f"m.{m.launcher}(x * 1, w, {steps})"
        m.call(call, {"x": m.shape, "w": m.shape})


def collected(m: Maker) -> None:
    k = m.file.kernel(2, 1)
    launch = m.launch(k, ["x[t]", "w"], ["out"], "w", grid="(w.shape[0],)" if k.rows else "")
    end = m.pick(
        "return torch.stack(outs)", "return outs", "return sum(outs)", "return torch.cat(outs, 0)"
    )
    m.function(
        "x, w",
        "outs = []\n"
        "for t in range(x.shape[0]):\n"
        "    out = torch.empty_like(w)\n"
        f"    {launch}\n"
        "    outs.append(out)\n"
        f"{end}",
    )
    m.call(f"m.{m.launcher}(x, w)", {"x": [3, *m.shape], "w": m.shape})


def state_rows(m: Maker) -> None:
    """Row t of a buffer is made from row t - 1 by a launch each."""
    k = m.file.kernel(2, 1, rows=False)
    previous, new = m.pick(("hs[t]", "hs[t + 1]"), ("h", "hs[t + 1]"))
    advance = "\n    h = hs[t + 1]" if previous == "h" else ""
    launch = m.launch(k, [previous, "x[t]"], [new], "x[t]")
    start = "h = hs[0]\n" if previous == "h" else ""
    end = m.pick("return hs", "return hs[1:]", "return hs[-1]")
    m.function(
        "x",
        "T, D = x.shape\n"
        "hs = torch.zeros(T + 1, D, dtype=x.dtype)\n"
        f"{start}for t in range(T):\n"
        f"    {launch}{advance}\n"
        f"{end}",
    )
    m.call(f"m.{m.launcher}(x)", {"x": m.shape})


def while_halves(m: Maker) -> None:
    name = m.file.names.fresh(("pairwise", "halve"))
    m.file.add(
        f"""
@triton.jit
def {name}(o, x, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + 2 * i, mask=i < n, other=0.0)
    b = tl.load(x + 2 * i + 1, mask=i < n, other=0.0)
    tl.store(o + i, {expression(m.random, ["a", "b"])}, mask=i < n)
"""
    )
    grid = m.pick("lambda meta: (triton.cdiv(n, meta['BLOCK']),)", "(triton.cdiv(n, 2),)")
    m.function(
        "x",
        "n = x.numel()\n"
        "while n > 1:\n"
        "    n //= 2\n"
        "    o = torch.empty(n, dtype=x.dtype)\n"
        f"    grid = {grid}\n"
        f"    {name}[grid](o, x, n, BLOCK=2)\n"
        "    x = o\n"
        "return x",
    )
    m.call(f"m.{m.launcher}(x)", {"x": [m.pick(4, 8, 16)]})


def nested_loop(m: Maker) -> None:
    k = m.file.kernel(2, 1, rows=False)
    launch = m.launch(k, ["h", "w[j]"], ["out"], "h")
    body = (
        "total = torch.zeros_like(x[0])\n"
        "for i in range(x.shape[0]):\n"
        "    h = x[i]\n"
        "    for j in range(w.shape[0]):\n"
        f"        if i == 0 and j == {m.pick(0, 1, 5)}:\n"
        f"            {m.pick('continue', 'break')}\n"
        "        out = torch.empty_like(h)\n"
        f"        {launch}\n"
        "        h = out\n"
        "    total = total + h\n"
        "return total"
    )
    m.function("x, w", body)
    m.call(f"m.{m.launcher}(x, w)", {"x": [2, 5], "w": [2, 5]})


def in_place_layers(m: Maker) -> None:
    k = m.file.kernel(2, 1)
    body = f"h = x.clone()\nfor i in range(2):\n    {m.launch(k, ['h', 'w'], ['h'], 'x')}\nreturn h"
    m.function("x, w", body)
    m.call(f"m.{m.launcher}(x, w)", {"x": m.shape, "w": m.shape})


def chains(m: Maker) -> None:
    """Launches that feed each other."""
    first, second = m.file.kernel(m.pick(1, 2), 1), m.file.kernel(2, m.pick(1, 2))
    names = ["x", "w"][: len(first.inputs)]
    h, mid = (
        "h",
        m.pick(
            "h",
            "h",
            "h * 2.0",
            "torch.sigmoid(h)",
            "h.contiguous()",
            "h.view(h.shape)",
            "h + x",
            "h.detach()",
        ),
    )
    body = f"h = {m.output('x')}\n{m.launch(first, names, ['h'], 'x')}\n"
    if mid != "h":
        body += f"g = {mid}\n"
        h = "g"
    pair = m.pick([h, "x"], ["x", h], [h, h], [h, "w"] if "w" in names else [h, "x"])
    outs = ["out", "aux"][: len(second.outputs)]
    body += (
        "".join(f"{o} = {m.output('x')}\n" for o in outs) + m.launch(second, pair, outs, "x") + "\n"
    )
    if m.chance(0.3):
        body += m.launch(first, names, ["h"], "x") + "\n"
    body += m.pick("return out", f"return {', '.join(outs)}", "return out, h", "return out + h")
    m.function(", ".join(names), body)
    m.call(f"m.{m.launcher}({', '.join(names)})", dict.fromkeys(names, m.shape))
    if "detach" in mid:
        m.calls.clear()  # differences see through detach
        m.call(f"m.{m.launcher}({', '.join(names)})", dict.fromkeys(names, m.shape))
        m.calls[0].reference = ""
        m.file.parts[-1] = m.file.parts[-1].replace("h.detach()", "h * 0.5")


def two_stages(m: Maker) -> None:
    """Partial results of blocks, then their sum."""
    a, b = m.file.names.fresh(("partial", "stage_one")), m.file.names.fresh(("finish", "stage_two"))
    m.file.add(
        f"""
@triton.jit
def {a}(x, part, n, BLOCK: tl.constexpr):
    p = tl.program_id(0)
    i = p * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0.0)
    tl.store(part + p, tl.sum(tl.where(i < n, {expression(m.random, ["v"])}, 0.0)))


@triton.jit
def {b}(part, x, out, n, count, BLOCK: tl.constexpr, P: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    j = tl.arange(0, P)
    total = tl.sum(tl.load(part + j, mask=j < count, other=0.0))
    v = tl.load(x + i, mask=i < n, other=0.0)
    tl.store(out + i, {unary(m.random, "v")} * {unary(m.random, "total * 0.2")}, mask=i < n)
"""
    )
    body = (
        "n = x.numel()\n"
        "count = triton.cdiv(n, 4)\n"
        f"part = torch.{m.pick('empty', 'zeros')}(count, dtype=x.dtype)\n"
        f"out = {m.output('x')}\n"
    )
    body += (
        f"{a}[(count,)](x, part, n, BLOCK=4)\n"
        f"{b}[(triton.cdiv(n, 8),)](part, x, out, n, count, BLOCK=8, P=triton.next_power_of_2(count))\n"
    )
    m.function("x", body + m.pick("return out", "return out, part"))
    m.call(f"m.{m.launcher}(x)", {"x": m.shape})


def all_chains(m: Maker) -> None:
    """Launches that feed each other."""
    (two_stages if m.seed % 4 == 3 else chains)(m)


def classes(m: Maker) -> None:
    """Launches in methods."""
    k = m.file.kernel(2, 1)
    cls = m.file.names.fresh(("Scale", "Layer", "FusedOp", "Norm", "Gate"))
    form = m.seed % 7
    own = {"w": m.shape, "x": m.shape}
    body = f"out = {m.output('x')}\n{{launch}}\nreturn out"
    if form in (0, 1):
        attribute = m.pick("self.weight", "self.w")
        launch = m.launch(
            k,
            ["x", attribute],
            ["out"],
            "x",
            **({k.block: "self.block"} if not k.rows and m.chance(0.5) else {}),
        )
        store = f"{attribute} = w" if form == 0 else f"{attribute} = w * 1"
        base = "(torch.nn.Module)" if form == 0 else ""
        start = "super().__init__()\n        " if form == 0 else ""
        method = "forward" if form == 0 else m.pick("__call__", "run", "forward")
        m.file.add(
            f"class {cls}{base}:\n"
            f"    def __init__(self, w, block={m.block}):\n"
            f"        {start}{store}\n"
            "        self.block = block\n\n"
            f"    def {method}(self, x):\n" + indent(body.format(launch=launch), 8)
        )
        use = "" if method == "__call__" or form == 0 else f".{method}"
        m.call(f"m.{cls}(w){use}(x)", own)
    elif form == 2:
        launch = m.launch(k, ["x", "w"], ["out"], "x")
        m.file.add(
            f"class {cls}:\n"
            "    @staticmethod\n"
            "    def apply(x, w):\n" + indent(body.format(launch=launch), 8)
        )
        m.call(f"m.{cls}{m.pick('', '()')}.apply(x, w)", own)
    elif form == 3:
        launch = m.launch(k, ["x", "w"], ["out"], "x")
        m.file.add(
            f"class {cls}(torch.autograd.Function):\n"
            "    @staticmethod\n"
            "    def forward(ctx, x, w):\n"
            + indent(f"ctx.save_for_backward(x, w)\n{body.format(launch=launch)}", 8)
            + "\n\n"
            "    @staticmethod\n"
            "    def backward(ctx, grad):\n"
            "        raise NotImplementedError\n"
        )
        if m.chance(0.5):
            m.function("x, w", f"return {cls}.apply(x, w)")
            m.call(f"m.{m.launcher}(x, w)", own)
        else:
            m.call(f"m.{cls}.apply(x, w)", own)
    elif form == 4:
        launch = m.launch(k, ["x", "self._scale()"], ["out"], "x")
        m.file.add(
            f"class {cls}:\n"
            "    def __init__(self, w):\n"
            "        self.w = w\n\n"
            "    def _scale(self):\n"
            "        return self.w * 2\n\n"
            "    def _launch(self, x, out):\n"
            f"        {launch}\n\n"
            "    def __call__(self, x):\n"
            f"        out = {m.output('x')}\n"
            "        self._launch(x, out)\n"
            "        return out\n"
        )
        m.call(f"m.{cls}(w)(x)", own)
    elif form == 5:
        launch = m.launch(k, ["x", "w"], ["out"], "x")
        m.file.add(
            f"class {cls}:\n"
            "    @classmethod\n"
            "    def make(cls, x, w):\n" + indent(body.format(launch=launch), 8) + "\n\n\n"
            f"class {cls}Sub({cls}):\n"
            "    def __call__(self, x, w):\n"
            "        return self.make(x, w) * 2\n"
        )
        m.call(f"m.{cls}Sub()(x, w)", own)
    else:
        launch = m.launch(k, ["x", "self.w"], ["self.out"], "x")
        m.file.add(
            f"class {cls}:\n"
            "    def __init__(self, w):\n"
            "        self.w = w\n"
            "        self.out = None\n\n"
            "    def step(self, x):\n"
            f"        self.out = {m.output('x')}\n"
            f"        {launch}\n"
            "        return self.out\n"
        )
        m.call(f"(lambda o: o.step(x) + o.step(x * 0.5))(m.{cls}(w))", own)


def indent(text: str, by: int) -> str:
    """The text, further in."""
    return "\n".join(" " * by + line if line else "" for line in text.splitlines())


def grids(m: Maker) -> None:
    """Grids that are bound late, hold meta-parameters, or change after the launch."""
    k = m.file.kernel(2, 1, rows=False)
    block = m.pick(2, 4)
    form = m.seed % 9

    def launch(grid: str) -> str:
        return m.launch(k, ["x", "w"], ["out"], "x", grid=grid, **{k.block: str(block)})

    allocate, meta = f"out = {m.output('x')}\n", f"meta['{k.block}']"
    if form == 0:
        body = (
            "n = x.numel()\n"
            f"grid = lambda meta: (triton.cdiv(n, {meta}),)\n"
            f"{allocate}{launch('grid')}\n"
            f"n = {m.pick(1, 0)}\n"
            "return out"
        )
    elif form == 1:
        body = (
            "def grid(meta):\n"
            f"    return (triton.cdiv(n, {meta}), 1)\n\n"
            "n = x.numel()\n"
            f"{allocate}{launch('grid')}\n"
            "n = 1\n"
            "return out"
        )
    elif form == 2:
        body = (
            "sizes = [x.numel()]\n"
            f"{allocate}{launch(f'lambda META: (triton.cdiv(sizes[0], META[{k.block!r}]),)')}\n"
            "sizes[0] = 1\n"
            "return out"
        )
    elif form == 3:
        m.file.add("LIMIT = {'n': 0}")
        body = (
            "LIMIT['n'] = x.numel()\n"
            f"{allocate}{launch(f'lambda meta: (triton.cdiv(LIMIT[{chr(34)}n{chr(34)}], {meta}),)')}\n"
            "LIMIT['n'] = 0\n"
            "return out"
        )
    elif form == 4:
        body = (
            f"grid = (triton.cdiv(x.numel(), {block}),)\n"
            f"{allocate}{launch('grid')}\n"
            "grid = (1,)\n"
            "return out"
        )
    elif form == 5:
        body = (
            "outs = []\n"
            "for v in (x, x[:1], x * 2):\n"
            "    x = v.contiguous()\n"
            f"    {allocate}    grid = lambda meta: (triton.cdiv(x.numel(), {meta}),)\n"
            f"    {launch('grid')}\n"
            "    outs.append(out)\n"
            "return outs"
        )
        body = body.replace("    out = ", "    out = ", 1)
    elif form == 6:
        name = m.file.names.fresh(("make_grid", "blocks"))
        m.file.add(f"def {name}(n):\n    return lambda meta: (triton.cdiv(n, {meta}),)\n")
        body = f"{allocate}{launch(f'{name}(x.numel())')}\nreturn out"
    elif form == 7:
        body = (
            f"g = x.numel() // {block} + (1 if x.numel() % {block} else 0)\n"
            f"{allocate}{launch('(g, 1, 1)')}\n"
            "g = 0\n"
            "return out"
        )
    else:
        name = m.file.names.fresh(("persistent", "strided_loop"))
        m.file.add(
            f"""
@triton.jit
def {name}(o, x, w, n, BLOCK: tl.constexpr):
    step = tl.num_programs(0) * BLOCK
    for start in range(tl.program_id(0) * BLOCK, n, step):
        i = start + tl.arange(0, BLOCK)
        a = tl.load(x + i, mask=i < n, other=0.0)
        b = tl.load(w + i, mask=i < n, other=0.0)
        tl.store(o + i, {expression(m.random, ["a", "b"])}, mask=i < n)
"""
        )
        count = m.pick("2", "min(2, x.numel())", "3")
        body = (
            f"programs = {count}\n"
            f"{allocate}{name}[(programs,)](out, x, w, x.numel(), BLOCK=2)\n"
            "programs = 1\n"
            "return out"
        )
    m.function("x, w", body)
    m.call(f"m.{m.launcher}(x, w)", {"x": m.shape, "w": m.shape})


def tuning(m: Maker) -> None:
    """Configurations and heuristics, in the places where people put them."""
    form = m.seed % 8
    size_key = m.pick("size", "[]", "key")
    probe = m.file.kernel(2, 1, rows=False)
    m.file.parts.clear()
    config = "triton.Config({{'{0}': {1}}}, num_warps={2})"
    configs = [config.format(probe.block, b, w) for b, w in ((8, 2), (16, 4), (4, 1))][
        : m.random.randint(1, 3)
    ]
    key = f"key=['{probe.size}']" if size_key != "[]" else "key=[]"
    listed = "[" + ", ".join(configs) + "]"
    if form == 0:
        decorator = f"@triton.autotune(configs={listed}, {key})"
    elif form == 1:
        name = m.file.names.fresh(("CONFIGS", "configs", "_TUNED"))
        m.file.add(f"{name} = {listed}")
        decorator = f"@triton.autotune({name}, {key})"
    elif form == 2:
        name = m.file.names.fresh(("get_configs", "_configs"))
        m.file.add(f"def {name}():\n    return {listed}\n")
        decorator = f"@triton.autotune(configs={name}(), {key})"
    elif form == 3:
        decorator = (
            "@triton.autotune(\n"
            f"    configs=[triton.Config({{'{probe.block}': b}}, num_warps=w) for b in (8, 16) for w in (1, 2)],\n"
            f"    {key},\n"
            ")"
        )
    elif form == 4:
        rule = m.pick(
            "lambda args: 8",
            f"lambda args: triton.next_power_of_2(args['{probe.size}'])",
            f"lambda a: 16 if a['{probe.size}'] > 8 else 8",
        )
        decorator = f"@triton.heuristics({{'{probe.block}': {rule}}})"
    elif form == 5:
        more = m.pick(
            f"reset_to_zero=['{probe.outputs[0]}']",
            f"restore_value=['{probe.inputs[0]}']",
            "warmup=1, rep=1",
            "use_cuda_graph=False",
        )
        decorator = f"@triton.autotune(configs={listed}, {key}, {more})"
    elif form == 6:
        hook = m.file.names.fresh(("zero_first", "_hook", "init"))
        m.file.add(
            f"def {hook}(args, **kwargs):\n"
            f"    if '{probe.outputs[0]}' in args:\n"
            f"        args['{probe.outputs[0]}'].zero_()\n"
        )
        decorator = f"@triton.autotune(configs=[triton.Config({{'{probe.block}': 8}}, pre_hook={hook})], {key})"
    else:
        prune = m.file.names.fresh(("prune", "early_prune"))
        m.file.add(
            f"def {prune}(configs, named_args, **kwargs):\n"
            f"    return [c for c in configs if c.kwargs['{probe.block}'] <= 16] or configs\n"
        )
        decorator = f"@triton.autotune(configs={listed}, {key}, prune_configs_by={{'early_config_prune': {prune}}})"
    text = probe.text.replace("@triton.jit", decorator + "\n@triton.jit")
    m.file.add(text)
    grid = f"lambda meta: (triton.cdiv(x.numel(), meta['{probe.block}']),)"
    bound = {
        **dict(zip(probe.inputs, ["x", "w"], strict=True)),
        probe.outputs[0]: "out",
        probe.size: "x.numel()",
    }
    by_name = m.chance(0.5)
    arguments = [
        f"{p}={bound[p]}" if by_name else bound[p] for p in probe.parameters if p != probe.block
    ]
    m.function(
        "x, w", f"out = {m.output('x')}\n{probe.name}[{grid}]({', '.join(arguments)})\nreturn out"
    )
    m.call(f"m.{m.launcher}(x, w)", {"x": m.shape, "w": m.shape})


def second(m: Maker) -> None:
    """The gradient of the gradient."""
    k = m.file.kernel(2, 1)
    m.function(
        "x, w", f"out = {m.output('x')}\n{m.launch(k, ['x', 'w'], ['out'], 'x')}\nreturn out"
    )
    m.call(f"m.{m.launcher}(x, w)", {"x": Input(m.shape), "w": Input(m.shape)}, second=True)
