"""Random kernels, and what a launcher needs to know of them.

A kernel is described by its parameters in the order that it has them; launchers bind each to an expression.  Names,
order, rank, the way that offsets are written and what is computed are all drawn from the case's own random numbers.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

BLOCKS = ("BLOCK", "B", "BLOCK_SIZE", "XBLOCK", "TILE")
SIZES = ("n", "N", "numel", "n_elements", "size", "cols", "D")
INPUTS = ("x", "a", "inp", "src", "u", "lhs", "q", "left", "h", "value")
OTHERS = ("y", "b", "w", "gate", "v", "rhs", "k", "right", "bias", "scale")
OUTPUTS = ("out", "o", "dst", "result", "z", "ret", "dest", "acc_out")
EXTRAS = ("aux", "stat", "extra", "saved", "second", "lse")
KERNELS = (
    "mix", "blend", "fused_act", "scale_rows", "gate_fwd", "_fwd_kernel", "combine", "apply_op", "poly",
    "smooth", "transform", "step_kernel", "modulate", "warp_fn", "act_mul", "inner",
)  # fmt: skip
LAUNCHERS = (
    "forward", "run", "apply", "compute", "fused", "launch", "op", "call_kernel", "evaluate", "layer", "entry",
)  # fmt: skip


class Names:
    """Names of a file, each given once."""

    def __init__(self, random: Random):
        self.random, self.taken = (
            random,
            {"m", "torch", "triton", "tl", "math", "self", "ctx", "grid"},
        )

    def fresh(self, pool: tuple[str, ...], suffix: str = "") -> str:
        """One that is not taken, from the pool or with a number behind."""
        for _ in range(20):
            name = self.random.choice(pool) + suffix
            if name not in self.taken:
                self.taken.add(name)
                return name
        name = f"{self.random.choice(pool)}{suffix}_{len(self.taken)}"
        self.taken.add(name)
        return name


@dataclass
class Kernel:
    """Text and parameters; `grid` is what a launch over `total` elements or rows needs."""

    name: str
    text: str
    parameters: list[str]
    inputs: list[str]
    outputs: list[str]
    size: str  # the parameter with the number of elements, or of columns
    block: str
    rows: bool  # a program per row of `size` elements; else programs of `block` elements
    flags: list[str] = field(default_factory=list)

    def launch(self, random: Random, bound: dict[str, str], grid: str) -> str:
        """The text of a launch; some arguments by position, the rest by name."""
        first = random.randint(0, len(self.parameters))
        by_name = self.parameters[first:]
        if random.random() < 0.5:
            by_name = [p for p in self.parameters[first:] if p in (self.block, *self.flags)]
            positional = [p for p in self.parameters if p not in by_name]
        else:
            positional = self.parameters[:first]
        if positional != self.parameters[: len(positional)]:
            positional, by_name = self.parameters[:first], self.parameters[first:]
        arguments = [bound[p] for p in positional] + [f"{p}={bound[p]}" for p in by_name]
        return f"{self.name}[{grid}]({', '.join(arguments)})"

    def default_grid(self, random: Random, of: str, block: int, rows: int | None = None) -> str:
        """A grid for a launch over the tensor `of`."""
        if self.rows:
            return random.choice([f"({of}.shape[0],)", f"({of}.size(0),)", f"(len({of}),)"])
        return random.choice(
            [
                f"(triton.cdiv({of}.numel(), {block}),)",
                f"(({of}.numel() + {block - 1}) // {block},)",
                f"lambda meta: (triton.cdiv({of}.numel(), meta['{self.block}']),)",
                f"triton.cdiv({of}.numel(), {block}),",
            ]
        )


def unary(random: Random, a: str) -> str:
    """A smooth function of `a`, bounded where `a` is."""
    return random.choice(
        [
            f"tl.exp({a} * 0.5)", f"tl.sigmoid({a})", f"tl.sin({a})", f"tl.cos({a})", f"({a} * {a})",
            f"tl.sqrt({a} * {a} + 1.0)", f"(1.0 / ({a} * {a} + 1.5))", f"({a} * tl.sigmoid({a}))",
            f"tl.log({a} * {a} + 2.0)", f"tl.where({a} > 0.0, {a} * 1.5, {a} * {a})", f"tl.erf({a})",
            f"tl.abs({a} + 3.0)", f"({a} * {a} * {a})", f"(2 * tl.sigmoid(2 * {a}) - 1)",
        ]
    )  # fmt: skip


def binary(random: Random, a: str, b: str) -> str:
    """A smooth function of both."""
    return random.choice(
        [
            f"({a} * {b})", f"({a} + {b} * {a})", f"({a} * {unary(random, b)})", f"({a} - {unary(random, b)})",
            f"({unary(random, a)} * {b} + {a})", f"({a} / ({b} * {b} + 1.0))", f"({a} * {b} + {b})",
            f"tl.maximum({a}, {b} - 4.0) * {b}", f"({unary(random, a)} * {unary(random, b)})",
        ]
    )  # fmt: skip


def expression(random: Random, values: list[str], depth: int = 2) -> str:
    """A function that depends on every value, nonlinearly."""
    result = unary(random, values[0]) if len(values) == 1 or random.random() < 0.4 else values[0]
    for value in values[1:]:
        result = binary(random, result, value)
    if depth > 1 and random.random() < 0.5:
        result = unary(random, result)
    return result


class File:
    """A user's file under construction."""

    def __init__(self, random: Random):
        self.random, self.names = random, Names(random)
        self.parts: list[str] = []
        self.head = ["import torch", "import triton", "import triton.language as tl"]

    def add(self, text: str) -> None:
        self.parts.append(text.strip("\n"))

    def text(self) -> str:
        """The whole file."""
        return "\n".join(self.head) + "\n\n\n" + "\n\n\n".join(self.parts) + "\n"

    def parameters(self, n_in: int, n_out: int) -> tuple[list[str], list[str]]:
        """Names of pointers, of one kernel."""
        suffix = self.random.choice(["", "", "_ptr", "_p"])
        own = Names(self.random)
        inputs = [own.fresh(INPUTS if i == 0 else OTHERS, suffix) for i in range(n_in)]
        outputs = [own.fresh(OUTPUTS if i == 0 else EXTRAS, suffix) for i in range(n_out)]
        return inputs, outputs

    def kernel(
        self, n_in: int = 1, n_out: int = 1, rows: bool | None = None, **more: object
    ) -> Kernel:
        """A random kernel, added to the file."""
        if rows is None:
            rows = self.random.random() < 0.5
        made = make_kernel(self, n_in, n_out, rows, **more)  # type: ignore[arg-type]
        self.add(made.text)
        return made


def order(random: Random, inputs: list[str], outputs: list[str], size: str) -> list[str]:
    """Pointers and size in one of the orders that people use."""
    pointers = random.choice(
        [outputs + inputs, inputs + outputs, inputs[:1] + outputs + inputs[1:]]
    )
    return [size, *pointers] if random.random() < 0.1 else [*pointers, size]


def make_kernel(
    file: File,
    n_in: int,
    n_out: int,
    rows: bool,
    flag_outputs: bool = False,
    name: str = "",
    decorator: str = "@triton.jit",
    cast: str = "",
    store_cast: bool = False,
) -> Kernel:
    """Text of a kernel.  With `flag_outputs` each output but the first is stored under a constexpr."""
    random = file.random
    inputs, outputs = file.parameters(n_in, n_out)
    own = Names(random)
    own.taken |= {*inputs, *outputs}
    size, block = own.fresh(SIZES), own.fresh(BLOCKS)
    name = name or file.names.fresh(KERNELS)
    flags = [
        own.fresh((f"HAS_{i}", f"SAVE_{i}", f"WITH_{i}", f"STORE{i}")) for i in range(1, n_out)
    ]
    flags = flags if flag_outputs else []
    index, mask = own.fresh(("i", "offs", "idx", "offsets")), own.fresh(("mask", "m", "ok", "keep"))
    pid = own.fresh(("pid", "row", "r", "p"))
    lines = [f"{pid} = tl.program_id({random.choice(['0', 'axis=0'])})"]
    if rows:
        lines += [f"{index} = tl.arange(0, {block})", f"{mask} = {index} < {size}"]
        place = f"{pid} * {size} + {index}"
    else:
        lines += [
            f"{index} = {pid} * {block} + tl.arange(0, {block})",
            f"{mask} = {index} < {size}",
        ]
        place = index
    values = []
    for pointer in inputs:
        value = own.fresh(("a0", "b0", "c0", "val", "cur", "xv", "wv", "t"))
        other = random.choice([", other=0.0", ", other=0."])
        lines.append(f"{value} = tl.load({pointer} + {place}, mask={mask}{other}){cast}")
        values.append(value)
    if rows and random.random() < 0.6:
        lines += reduction(random, own, values, mask, size)
    for i, pointer in enumerate(outputs):
        result = expression(random, random.sample(values, len(values)))
        if random.random() < 0.5:
            local = own.fresh(("res", "outv", "f0", "g0", "s"))
            lines.append(f"{local} = {result}")
            result = local
        if store_cast:
            result = f"({result}).to({pointer}.dtype.element_ty)"
        store = f"tl.store({pointer} + {place}, {result}, mask={mask})"
        lines += [f"if {flags[i - 1]}:", f"    {store}"] if flags and i > 0 else [store]
    parameters = order(random, inputs, outputs, size) + flags + [block]
    declared = [f"{p}: tl.constexpr" if p in (*flags, block) else p for p in parameters]
    body = "\n".join("    " + line for line in lines)
    text = f"{decorator}\ndef {name}({', '.join(declared)}):\n{body}\n"
    return Kernel(name, text, parameters, inputs, outputs, size, block, rows, flags)


def reduction(random: Random, own: Names, values: list[str], mask: str, size: str) -> list[str]:
    """A sum, a norm or a softmax of one of the values over the row, multiplied into another."""
    source = random.choice(values)
    total = own.fresh(("total", "ss", "red", "mx"))
    target = random.randrange(len(values))
    into = own.fresh(("nv", "scaled", "normed"))
    kind = random.choice(["mean", "rms", "softmax", "sum"])
    if kind == "softmax":
        lines = [
            f"{total} = tl.max(tl.where({mask}, {source}, -float('inf')), axis=0)",
            f"{into} = tl.where({mask}, tl.exp({source} - {total}), 0.0)",
            f"{into} = {into} / tl.sum({into}, axis=0)",
        ]
        if values[target] != source:
            lines.append(f"{into} = {into} + {values[target]}")
    elif kind == "rms":
        lines = [
            f"{total} = tl.sum({source} * {source}, axis=0) / {size}",
            f"{into} = {values[target]} / tl.sqrt({total} + 0.3)",
        ]
    elif kind == "mean":
        lines = [
            f"{total} = tl.sum({source}, axis=0) / {size}",
            f"{into} = tl.where({mask}, {values[target]} - {total}, 0.0)",
        ]
    else:
        lines = [
            f"{total} = tl.sum({unary(random, source)} * {mask}, axis=0)",
            f"{into} = {values[target]} * (1.0 + 0.1 * {total})",
        ]
    values[target] = into
    return lines
