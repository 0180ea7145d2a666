"""Launchers about names and places: decorators, registries, other files, nested functions, collisions."""

from __future__ import annotations

from tests.oracle.generate.kit import KERNELS, Kernel
from tests.oracle.generate.maker import Maker


def two(m: Maker) -> tuple[Kernel, Kernel]:
    """Two kernels of two inputs."""
    return m.file.kernel(2, 1), m.file.kernel(2, 1)


def sum_of_both(m: Maker, first: str, second: str, prelude: str = "") -> None:
    """A launcher that adds the results of two launches."""
    m.function(
        "x, w",
        f"{prelude}o = {m.output('x')}\np = {m.output('x')}\n{first}\n{second}\nreturn o + p",
    )
    m.call(f"m.{m.launcher}(x, w)", {"x": m.shape, "w": m.shape})


def kernels(m: Maker) -> None:
    """A kernel that is reached by another way than its name."""
    forms = [
        alias, registry, partial, in_list, lambda_launch, returned, decorated, imported, imported_module,
        helper_of_file, bound_grid, attribute, conditional_alias,
    ]  # fmt: skip
    forms[m.seed % len(forms)](m)


def launch_as(m: Maker, k: Kernel, way: str, out: str = "o") -> str:
    """A launch of the kernel under another name."""
    return m.launch(k, ["x", "w"], [out], "x").replace(f"{k.name}[", f"{way}[", 1)


def alias(m: Maker) -> None:
    a, b = two(m)
    if m.chance(0.5):
        m.file.add(f"aliased = {a.name}")
        sum_of_both(m, launch_as(m, a, "aliased"), launch_as(m, b, b.name, "p"))
    else:
        sum_of_both(
            m, launch_as(m, a, "kernel"), launch_as(m, b, b.name, "p"), f"kernel = {a.name}\n"
        )


def registry(m: Maker) -> None:
    a, b = two(m)
    key = m.pick("'first'", "0", f"'{a.name}'")
    if m.chance(0.5):
        m.file.add(f"TABLE = {{{key}: {a.name}, 'other': {b.name}}}")
    else:
        m.file.add(f"TABLE = {{}}\nTABLE[{key}] = {a.name}\nTABLE['other'] = {b.name}")
    second = launch_as(m, b, m.pick("TABLE['other']", b.name), "p")
    sum_of_both(m, launch_as(m, a, f"TABLE[{key}]"), second)


def partial(m: Maker) -> None:
    a, b = two(m)
    m.file.head.append("import functools")
    name = m.file.names.fresh(("do", "go", "fire"))
    grid = "(x.shape[0],)" if a.rows else f"(triton.cdiv(x.numel(), {m.block}),)"
    m.file.add(
        f"def {name}(o, x, w, block):\n"
        "    " + m.launch(a, ["x", "w"], ["o"], "x", grid=grid, **{a.block: "block"}) + "\n"
    )
    way = m.pick("functools.partial({0}, block={1})", "lambda o, x, w: {0}(o, x, w, {1})")
    m.file.add(f"bound = {way.format(name, m.block)}")
    sum_of_both(m, "bound(o, x, w)", launch_as(m, b, b.name, "p"))


def in_list(m: Maker) -> None:
    a, b = two(m)
    # Both kernels get their arguments by name, as they differ in order.
    m.file.add(f"ALL = [{a.name}, {b.name}]" if m.chance(0.5) else f"ALL = ({a.name}, {b.name})")
    sum_of_both(m, launch_as(m, a, "ALL[0]"), launch_as(m, b, m.pick("ALL[1]", "ALL[-1]"), "p"))


def lambda_launch(m: Maker) -> None:
    a, b = two(m)
    m.file.add(f"go = lambda o, x, w: {m.launch(a, ['x', 'w'], ['o'], 'x')}")
    sum_of_both(m, "go(o, x, w)", launch_as(m, b, b.name, "p"))


def returned(m: Maker) -> None:
    a, b = two(m)
    name = m.file.names.fresh(("choose", "get_kernel", "pick"))
    m.file.add(f"def {name}(fast=True):\n    return {a.name} if fast else {b.name}\n")
    if a.parameters == b.parameters or m.chance(0.6):
        sum_of_both(m, launch_as(m, a, f"{name}()"), launch_as(m, b, b.name, "p"))
    else:
        sum_of_both(m, launch_as(m, a, f"{name}()"), launch_as(m, b, f"{name}(False)", "p"))


def decorated(m: Maker) -> None:
    """A decorator above triton.jit that keeps, wraps or records."""
    k = m.file.kernel(2, 1)
    m.file.parts.clear()
    form = m.pick("keep", "record", "record call", "launcher")
    if form == "keep":
        m.file.add("def mark(kernel):\n    return kernel\n")
        m.file.add("@mark\n" + k.text)
    elif form == "record":
        m.file.add(
            "SEEN = []\n\n\ndef record(kernel):\n    SEEN.append(kernel)\n    return kernel\n"
        )
        m.file.add("@record\n" + k.text)
    elif form == "record call":
        m.file.add(
            "SEEN = {}\n\n\n"
            "def record(name):\n"
            "    def inner(kernel):\n"
            "        SEEN[name] = kernel\n"
            "        return kernel\n\n"
            "    return inner\n"
        )
        m.file.add("@record('a')\n" + k.text)
    else:
        m.file.add(
            "def doubled(function):\n"
            "    def inner(*arguments):\n"
            "        return 2 * function(*arguments)\n\n"
            "    return inner\n"
        )
        m.file.add(k.text)
    way = (
        "SEEN['a']"
        if form == "record call" and m.chance(0.5)
        else "SEEN[0]"
        if form == "record" and m.chance(0.5)
        else k.name
    )
    m.function("x, w", f"o = {m.output('x')}\n{launch_as(m, k, way)}\nreturn o")
    if form == "launcher":
        m.file.parts[-1] = "@doubled\n" + m.file.parts[-1]
    m.call(f"m.{m.launcher}(x, w)", {"x": m.shape, "w": m.shape})


def other_file(m: Maker, name: str) -> Kernel:
    """A kernel in a file of its own."""
    k = m.file.kernel(2, 1)
    text = m.file.parts.pop()
    m.others[f"{name}.py"] = (
        "import torch\nimport triton\nimport triton.language as tl\n\n\n" + text + "\n"
    )
    return k


def imported(m: Maker) -> None:
    file = m.file.names.fresh(("kernels", "ops_common", "_impl"))
    a = other_file(m, file)
    way = m.pick("plain", "as", "both")
    m.file.head.append(f"from {file} import {a.name}" + (" as borrowed" if way == "as" else ""))
    first = launch_as(m, a, "borrowed" if way == "as" else a.name)
    if way == "both":
        m.function("x, w", f"o = {m.output('x')}\n{first}\nreturn o")
        m.call(f"m.{m.launcher}(x, w)", {"x": m.shape, "w": m.shape})
        return
    b = m.file.kernel(2, 1)
    sum_of_both(m, first, launch_as(m, b, b.name, "p"))


def imported_module(m: Maker) -> None:
    file = m.file.names.fresh(("kernels", "ops_common", "_impl"))
    a = other_file(m, file)
    short = m.chance(0.5)
    m.file.head.append(f"import {file}" + (" as K" if short else ""))
    b = m.file.kernel(2, 1)
    sum_of_both(
        m, launch_as(m, a, f"{'K' if short else file}.{a.name}"), launch_as(m, b, b.name, "p")
    )


def helper_of_file(m: Maker) -> None:
    """The launcher calls a launcher of another file."""
    file = m.file.names.fresh(("helpers", "common"))
    a = other_file(m, file)
    m.others[f"{file}.py"] += (
        "\n\n"
        "def first(x, w):\n"
        "    o = torch.empty_like(x)\n"
        f"    {launch_as(m, a, a.name)}\n"
        "    return o\n"
    )
    way = m.pick(f"from {file} import first", f"import {file}")
    m.file.head.append(way)
    b = m.file.kernel(2, 1)
    call = "first(x, w)" if way.startswith("from") else f"{file}.first(x, w)"
    m.function("x, w", f"p = {m.output('x')}\n{launch_as(m, b, b.name, 'p')}\nreturn {call} + p")
    m.call(f"m.{m.launcher}(x, w)", {"x": m.shape, "w": m.shape})


def bound_grid(m: Maker) -> None:
    """A kernel with its grid in a variable."""
    a, b = two(m)
    grid = "(x.shape[0],)" if a.rows else f"(triton.cdiv(x.numel(), {m.block}),)"
    text = m.launch(a, ["x", "w"], ["o"], "x", grid="GRID")
    prelude = f"ready = {a.name}[{grid}]\n"
    sum_of_both(m, text.replace(f"{a.name}[GRID]", "ready"), launch_as(m, b, b.name, "p"), prelude)


def attribute(m: Maker) -> None:
    a, b = two(m)
    if m.chance(0.5):
        m.file.add(f"class Ops:\n    kernel = {a.name}\n")
        sum_of_both(m, launch_as(m, a, "Ops.kernel"), launch_as(m, b, b.name, "p"))
    else:
        m.file.head.append("from types import SimpleNamespace")
        m.file.add(f"ops = SimpleNamespace(kernel={a.name})")
        sum_of_both(m, launch_as(m, a, "ops.kernel"), launch_as(m, b, b.name, "p"))


def conditional_alias(m: Maker) -> None:
    a, b = two(m)
    test = m.pick("x.shape[0] > 1", "True", "x.dim() == 2")
    prelude = f"chosen = {a.name} if {test} else {b.name}\n"
    sum_of_both(m, launch_as(m, a, "chosen"), launch_as(m, b, b.name, "p"), prelude)


def nesting(m: Maker) -> None:
    """Functions in functions, kernels in functions, statements of the module."""
    k = m.file.kernel(2, 1)
    text = m.file.parts.pop()
    launch = m.launch(k, ["x", "w"], ["out"], "x")
    form = m.seed % 8
    allocate = f"out = {m.output('x')}"
    inside = "\n".join("    " + line if line else "" for line in text.splitlines())
    if form == 0:
        m.file.add(text)
        m.function(
            "x, w",
            "def inside(x):\n"
            f"    {allocate}\n"
            f"    {launch}\n"
            "    return out\n\n"
            "return inside(x) * inside(x * 0.5)",
        )
    elif form == 1:
        m.file.add(f"def make():\n{inside}\n\n    return {k.name}\n")
        m.function(
            "x, w",
            "kernel = make()\n"
            f"{allocate}\n"
            f"{launch.replace(k.name + '[', 'kernel[', 1)}\n"
            "return out",
        )
    elif form == 2:
        test = m.pick("hasattr(torch, 'empty')", "triton.__version__ >= '2'", "True")
        m.file.add(f"if {test}:\n{inside}")
        m.function("x, w", f"{allocate}\n{launch}\nreturn out")
    elif form == 3:
        m.file.add(
            "try:\n"
            "    import nowhere_to_be_found\n"
            "except ImportError:\n"
            "    nowhere_to_be_found = None\n\n\n"
            f"{text}"
        )
        m.function(
            "x, w",
            "if nowhere_to_be_found is not None:\n"
            "    return None\n"
            f"{allocate}\n"
            f"{launch}\n"
            "return out",
        )
    elif form == 4:
        m.file.add(text)
        m.file.add(
            f"SCALE = {m.pick('2.0', '0.5')}\n"
            "SCALE = SCALE * 3\n"
            f"BLOCK_DEFAULT = {m.block}\n"
            "if SCALE > 2:\n"
            "    SCALE = SCALE - 1"
        )
        m.function(
            "x, w, block=BLOCK_DEFAULT",
            f"{allocate}\n"
            + m.launch(
                k, ["x", "w"], ["out"], "x", **({} if k.rows else {k.block: "BLOCK_DEFAULT"})
            )
            + "\n"
            "return out * SCALE",
        )
    elif form == 5:
        m.file.add(text)
        m.file.add(
            "def outer(scale):\n"
            "    def launcher(x, w):\n"
            f"        {allocate}\n"
            f"        {launch}\n"
            "        return out * scale\n\n"
            "    return launcher\n"
        )
        m.call("m.outer(1.5)(x, w)", {"x": m.shape, "w": m.shape})
        return
    elif form == 6:
        m.file.add(f"try:\n{inside}\nexcept Exception:\n    raise")
        m.function("x, w", f"{allocate}\n{launch}\nreturn out")
    else:
        m.file.add(text)
        m.function(
            "x, w",
            "with torch.enable_grad():\n"
            f"    {allocate}\n"
            "    try:\n"
            f"        {launch}\n"
            "    finally:\n"
            "        w = None\n"
            "return out",
        )
    m.call(f"m.{m.launcher}(x, w)", {"x": m.shape, "w": m.shape})


TAKEN = (
    "{0}_backward", "{1}Function", "ctx", "grid", "_gradient_buffer", "_mark_written", "_saved_inputs", "_with_stride",
    "grads", "results", "do", "dx", "tensors", "_stride_of", "saved", "cls", "args", "BLOCK", "torch_", "range_",
)  # fmt: skip


def names(m: Maker) -> None:
    """Names that emitted code would like to have."""
    k = m.file.kernel(
        2,
        1,
        name=m.pick(
            "_act", "act", "grid_kernel", "ctx_kernel", "backward", "forward_", "apply_", *KERNELS
        ),
    )
    camel = "".join(part.capitalize() for part in k.name.split("_") if part)
    launch = m.launch(k, ["x", "w"], ["out"], "x")
    form = m.seed % 6
    allocate = f"out = {m.output('x')}"
    given = {"x": m.shape, "w": m.shape}
    if form == 0:
        taken = m.random.choice(TAKEN).format(k.name, camel)
        m.file.add(f"def {taken}(value):\n    return value * 1.25\n")
        m.function("x, w", f"{allocate}\n{launch}\nreturn {taken}(out)")
    elif form == 1:
        taken = m.random.choice(TAKEN).format(k.name, camel)
        m.file.add(f"{taken} = 1.25")
        m.function("x, w", f"{allocate}\n{launch}\nreturn out * {taken}")
    elif form == 2:
        other = m.file.kernel(2, 1, name=f"_{k.name}" if not k.name.startswith("_") else k.name[1:])
        m.function(
            "x, w",
            f"{allocate}\n"
            f"p = {m.output('x')}\n"
            f"{launch}\n"
            f"{m.launch(other, ['x', 'w'], ['p'], 'x')}\n"
            "return out * p",
        )
    elif form == 3:
        name = m.pick(
            "ctx", "grid", "grads", "do", "self", "cls", "tensors", "results", "torch_", "dx"
        )
        text = m.launch(k, [name, "w"], ["out"], name)
        m.function(f"{name}, w", f"out = {m.output(name)}\n{text}\nreturn out")
        m.call(f"m.{m.launcher}(x, w)", given)
        return
    elif form == 4:
        m.file.add(
            f"class {camel}Function(torch.autograd.Function):\n"
            "    @staticmethod\n"
            "    def forward(ctx, x):\n"
            "        return x * 2\n\n"
            "    @staticmethod\n    def backward(ctx, g):\n        return g * 2\n"
        )
        m.function("x, w", f"{allocate}\n{launch}\nreturn {camel}Function.apply(out)")
    else:
        local = m.pick("grid", "ctx", f"{k.name}_backward", f"{camel}Function", "dx", "results")
        m.function("x, w", f"{allocate}\n{local} = 2.0\n{launch}\nreturn out * {local}")
    m.call(f"m.{m.launcher}(x, w)", given)
