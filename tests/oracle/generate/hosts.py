"""Launches in place that cross each other, launchers without gradients, and launchers that functions make."""

from __future__ import annotations

from tests.oracle.case import Input
from tests.oracle.generate.kit import binary, unary
from tests.oracle.generate.maker import Maker

COUNT = 16
# Where a lane reads of the elements `i`; the first stays in its program.
PLACES = (
    "i ^ 1", "n - 1 - i", "(i + shift) % n", "tl.load(places + i, mask=i < n, other=0)",
    "(i % 4) * 4 + i // 4", "tl.where(i < 4, i + 8, i)", "i // 2",
)  # fmt: skip


def crossings(m: Maker) -> None:
    """A kernel whose programs read at other places than they store to: apart, or in place under one name or two."""
    place, way = str(m.pick(*PLACES)), ("apart", "one", "two")[m.seed % 3]
    read, inputs = ("o", "o") if way == "one" else ("x", "x, o")
    name = m.file.names.fresh(("permute_kernel", "turned", "swap_kernel", "mixed"))
    m.file.add(
        f"@triton.jit\ndef {name}({inputs}, places, shift, n, BLOCK: tl.constexpr):\n"
        "    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n"
        f"    at = {place}\n"
        f"    a = tl.load({read} + at, mask=i < n, other=0.0)\n"
        f"    b = tl.load({read} + i, mask=i < n, other=0.0)\n"
        f"    tl.store(o + i, {binary(m.random, 'a', 'b')}, mask=i < n)\n"
    )
    made = m.output("x") if way == "apart" else m.pick("x.clone()", "x * 1.0", "x + x", "1.0 - x")
    given = {"apart": "x, o", "one": "o", "two": "o, o"}[way]
    shift = m.pick(1, 4, 5)
    launch = f"{name}[(triton.cdiv(x.numel(), 4),)]({given}, places, {shift}, x.numel(), BLOCK=4)"
    m.function("x, places", f"o = {made}\n{launch}\nreturn o * x")
    order = m.random.sample(range(COUNT), COUNT)
    places = Input([COUNT], "int64", grad=False, values=order)
    m.call(f"m.{m.launcher}(x, places)", {"x": [COUNT], "places": places})


def modes(m: Maker) -> None:
    """A launcher under `no_grad` or `inference_mode`, by a decorator or a statement: its result is a factor."""
    name, inner = m.file.names.fresh(("scale_kernel", "amax")), m.file.names.fresh(("scales", "q"))
    m.file.add(
        f"@triton.jit\ndef {name}(x, o, n, BLOCK: tl.constexpr):\n"
        "    r = tl.program_id(0)\n    i = tl.arange(0, BLOCK)\n"
        "    a = tl.load(x + r * n + i, mask=i < n, other=0.0)\n"
        f"    tl.store(o + r * n + i, {unary(m.random, 'a')}, mask=i < n)\n"
    )
    mode = m.pick("torch.no_grad()", "torch.inference_mode()", "torch.no_grad()")
    lines = ["o = torch.empty_like(x)", f"{name}[(x.shape[0],)](x, o, x.shape[1], BLOCK=8)"]
    form = m.seed % 4
    if form == 1:
        lines = [lines[0], f"with {mode}:", "    " + lines[1]]
    body = "".join(f"    {line}\n" for line in [*lines, "return o"])
    mark = "" if form == 1 else f"@{mode}\n"
    if form < 2:
        m.file.add(f"{mark}def {inner}(x):\n{body}")
        used = f"{inner}(x)"
    else:
        method = f"{mark}def run({'self, ' if form == 2 else ''}x):\n{body}"
        static = "" if form == 2 else "@staticmethod\n"
        inside = "".join(f"    {line}\n" for line in (static + method).splitlines())
        m.file.add(f"class Scale:\n{inside}")
        used = "Scale().run(x)"
    m.function("x", f"return x * {used} + x")
    m.call(f"m.{m.launcher}(x)", {"x": [3, 6]})


MADE = (
    ("return run", "{0}(2.0)"),
    ("return lambda x: run(x)", "{0}(2.0)"),
    ("return {{'run': run}}", "{0}(2.0)['run']"),
    ("return run, factor", "{0}(2.0)[0]"),
    ("return functools.partial(run)", "{0}(2.0)"),
    ("class Layer:\n    def __call__(self, x):\n        return run(x)\nreturn Layer()", "{0}(2.0)"),
    ("return [run, run]", "{0}(factor=2.0)[1]"),
)


def makers(m: Maker) -> None:
    """A function that makes a launcher; what it makes is called through a name of the module, or of a function."""
    m.file.add("import functools\n")
    name, make = m.file.names.fresh(("power_kernel", "act")), m.file.names.fresh(("make", "build"))
    m.file.add(
        f"@triton.jit\ndef {name}(x, o, n, factor, BLOCK: tl.constexpr):\n"
        "    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n"
        "    a = tl.load(x + i, mask=i < n, other=0.0)\n"
        f"    tl.store(o + i, {unary(m.random, 'a')} * factor, mask=i < n)\n"
    )
    given, used = m.random.choice(MADE)
    launch = f"{name}[(triton.cdiv(x.numel(), 8),)](x, o, x.numel(), factor, BLOCK=8)"
    lines = ["def run(x):", f"    o = {m.output('x')}", f"    {launch}", "    return o"]
    lines += given.replace("{{", "{").replace("}}", "}").split("\n")
    m.file.add(f"def {make}(factor=1.0):\n" + "".join(f"    {line}\n" for line in lines))
    if m.chance(0.6):
        m.file.add(f"made = {used.format(make)}\n")
        m.function("x", "return made(x) * made(x + 1.0)")
    else:
        m.function("x", f"made = {used.format(make)}\nreturn made(x) * x")
    m.call(f"m.{m.launcher}(x)", {"x": [3, 6]})
