"""What a kernel is by its structure: read off the text of its tile IR, never off names.

The text is that of `tad-lsp --dump ir`, with helpers inlined.  Classes are asked in the order of `CLASSES`; the
first that fits counts.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

NAME = re.compile(r"%[\w.]+")
HEAD = re.compile(r"function (\S+?)\((.*)\) \{$")
OP = re.compile(r"(?:(?P<results>%.*?) = )?(?P<code>[a-z_0-9]+)(?: (?P<rest>.*))?$")
EXPONENTIALS = {"exp", "exp2"}
ROOTS = {"rsqrt", "sqrt", "sqrt_rn"}
MAXIMA = {"max", "maximum"}


@dataclass
class Op:
    """One operation: its results and operands by name, and the loop that it stands in."""

    code: str
    results: list[str]
    operands: list[str]
    loop: Op | None
    rank: int = 0  # of its first result
    blocks: list[list[str]] = field(default_factory=list)  # arguments of its regions
    yields: list[list[str]] = field(default_factory=list)


def rank_of(types: str) -> int:
    """The rank of the first type of a text such as `f32[BLOCK_M, BLOCK_N], i32`."""
    found = re.match(r"\s*[^\[,]*\[([^\]]*)\]", types)
    return found[1].count(",") + 1 if found else 0


class Structure:
    """The operations of one kernel, and what depends on what."""

    def __init__(self, name: str, parameters: list[str], lines: Iterable[str]) -> None:
        self.name = name
        self.parameters = parameters
        self.ops: list[Op] = []
        self.edges: dict[str, set[str]] = {}
        self.made: dict[str, Op] = {}
        self.digest = ""
        self.read(lines)

    def read(self, lines: Iterable[str]) -> None:
        """Operations with their regions, line by line."""
        numbers = {parameter: f"%{i}" for i, parameter in enumerate(self.parameters)}
        digest = hashlib.sha256(str(len(self.parameters)).encode())
        around: list[Op] = []
        for line in lines:
            shown = NAME.sub(lambda m: numbers.setdefault(m[0], f"%{len(numbers)}"), line.strip())
            digest.update(shown.encode() + b"\n")
            self.read_line(line.strip(), around)
        self.digest = digest.hexdigest()

    def read_line(self, line: str, around: list[Op]) -> None:
        """One line; `around`: the operations whose regions are open."""
        if line.startswith("}"):
            if "{" in line:  # the next region of the same operation
                around[-1].blocks.append(NAME.findall(line))
                return
            closed = around.pop()
            closed.rank = rank_of(line.partition(":")[2])
            self.connect_regions(closed)
            return
        body, _, arguments = line.partition(" { |")
        opens = line.endswith("{") or bool(arguments)
        found = OP.match(body.removesuffix("{").strip())
        if not found:
            return
        written = found["rest"] or ""
        operands, _, types = written.rpartition(" : ") if " : " in written else (written, "", "")
        loops = [op for op in around if op.code in ("for", "while")]
        op = Op(
            found["code"],
            NAME.findall(found["results"] or ""),
            NAME.findall(operands),
            loops[-1] if loops else None,
            rank_of(types),
        )
        if op.code in ("yield", "return") and around:
            around[-1].yields.append(op.operands)
            return
        self.ops.append(op)
        for result in op.results:
            self.made[result] = op
            if not opens:
                self.edges.setdefault(result, set()).update(op.operands)
        if opens:
            op.blocks.append(NAME.findall(arguments))
            around.append(op)

    def connect_regions(self, op: Op) -> None:
        """Results depend on what regions yield, arguments of a loop on what goes in and round."""
        for k, result in enumerate(reversed(op.results)):
            for values in op.yields:
                if k < len(values):
                    self.edges.setdefault(result, set()).add(values[-1 - k])
        for arguments in op.blocks:
            for k, argument in enumerate(reversed(arguments)):
                if k >= len(op.results):
                    continue
                into = self.edges.setdefault(argument, set())
                into.update(values[-1 - k] for values in op.yields if k < len(values))
                if k < len(op.operands):
                    into.add(op.operands[-1 - k])

    def behind(self, names: Iterable[str]) -> set[str]:
        """All values that some values are made of, themselves included."""
        found: set[str] = set()
        open_names = list(names)
        while open_names:
            name = open_names.pop()
            if name not in found:
                found.add(name)
                open_names += self.edges.get(name, ())
        return found

    def made_of(self, names: Iterable[str], wanted: set[str]) -> bool:
        """Whether some of the values are made of one of those."""
        return not wanted.isdisjoint(self.behind(names))

    def coded(self, *codes: str) -> list[Op]:
        """The operations with one of these codes."""
        return [op for op in self.ops if op.code in codes]

    def results(self, *codes: str) -> set[str]:
        """What operations with one of these codes give."""
        return {result for op in self.coded(*codes) for result in op.results}

    @cached_property
    def dots(self) -> list[Op]:
        """Products of matrices."""
        return self.coded("dot", "dot_scaled")

    @cached_property
    def contractions(self) -> set[str]:
        """Products of matrices, and sums of products of two tiles that are loaded."""
        found = {result for op in self.dots for result in op.results}
        loads = self.results("load", "load_tensor_descriptor")
        for op in self.coded("sum"):
            factors = [self.made[name] for name in op.operands[:1] if name in self.made]
            if factors and factors[0].code == "mul":
                if all(self.made_of([name], loads) for name in factors[0].operands):
                    found.update(op.results)
        return found

    @cached_property
    def stored(self) -> set[str]:
        """All that stored values and their addresses are made of."""
        stores = self.coded("store", "store_tensor_descriptor", "atomic_add")
        return self.behind(name for op in stores for name in op.operands)


def is_attention(kernel: Structure) -> bool:
    """A product, less its maximum, goes through an exponential into a further product."""
    maxima = {
        result
        for op in kernel.coded(*MAXIMA)
        for result in op.results
        if kernel.made_of(op.operands, kernel.contractions)
    }
    weights = {
        result
        for op in kernel.coded(*EXPONENTIALS)
        for result in op.results
        if kernel.made_of(op.operands, maxima)
    }
    if not weights:
        return False
    if any(kernel.made_of(op.operands, weights) for op in kernel.dots):
        return True
    sums = [op for op in kernel.coded("sum") if not kernel.contractions.isdisjoint(op.results)]
    return any(kernel.made_of(op.operands, weights) for op in sums)


def carried(kernel: Structure) -> Iterator[tuple[Op, str, list[str]]]:
    """What loops carry: the loop, the value inside, and what goes round."""
    for loop in kernel.coded("for", "while"):
        for k, argument in enumerate(reversed(loop.blocks[-1])):
            if k < len(loop.results):
                yield loop, argument, [v[-1 - k] for v in loop.yields if k < len(v)]


def is_added_up(kernel: Structure, dot: Op) -> bool:
    """A loop adds this product to what it carries, and does nothing else to the sum."""
    sums = {"add", "cast", "if", "where", "dot", "dot_scaled"}
    if dot.loop is None:
        return False
    for loop, argument, around in carried(kernel):
        if loop is not dot.loop or dot.results[0] not in kernel.behind(around):
            continue
        found, names = set[str](), list(around)
        while names:
            name = names.pop()
            made = kernel.made.get(name)
            if name in found or (made and made.code not in sums):
                continue
            found.add(name)
            if made and made.code in ("dot", "dot_scaled"):
                names += made.operands[2:]
            else:
                names += kernel.edges.get(name, ())
        if argument in found and dot.results[0] in found:
            return True
    return False


def is_matmul(kernel: Structure) -> bool:
    """Each product is of two tiles that no product is in, and a loop adds it up."""
    products = {result for dot in kernel.dots for result in dot.results}
    return bool(kernel.dots) and all(
        is_added_up(kernel, dot) and not kernel.made_of(dot.operands[:2], products)
        for dot in kernel.dots
    )


def without_casts(kernel: Structure, name: str) -> Op | None:
    """What made a value, or what was cast to it."""
    op = kernel.made.get(name)
    while op and op.code == "cast":
        op = kernel.made.get(op.operands[0])
    return op


def is_swizzled(kernel: Structure) -> bool:
    """Tiles are launched in groups: a block is counted by a group's first, a quotient of the id, plus a remainder.

    Ids that only number rows and columns in turn (`id // n`, `id % n`) are no such order.
    """
    programs = kernel.results("program_id")
    quotients = {
        result
        for op in kernel.coded("floordiv", "div")
        for result in op.results
        if not op.rank and kernel.made_of(op.operands[:1], programs)
    }
    regrouped = set[str]()
    for op in kernel.coded("add"):
        if op.rank or len(op.operands) < 2:
            continue
        for first, rest in (op.operands[:2], op.operands[1::-1]):
            made = without_casts(kernel, rest)
            is_rest = made is not None and made.code == "mod"
            same = kernel.behind([first]) & kernel.behind([rest]) & programs
            if is_rest and same and kernel.made_of([first], quotients):
                regrouped.update(op.results)
    starts = {
        result
        for op in kernel.coded("mul")
        for result in op.results
        if not op.rank and kernel.made_of(op.operands, regrouped)
    }
    lanes = kernel.results("arange")
    return any(
        operand in starts and (op.code == "tuple" or not lanes.isdisjoint(op.operands))
        for op in kernel.coded("add", "tuple")
        for operand in op.operands
    )


def is_norm(kernel: Structure) -> bool:
    """The root of a sum scales what it is the sum of."""
    sums = kernel.results("sum", "reduce")
    roots = {
        result
        for op in kernel.coded(*ROOTS)
        for result in op.results
        if kernel.made_of(op.operands, sums)
    }
    scaled = [
        op
        for op in kernel.coded("mul", "div", "fdiv", "div_rn")
        if op.rank and kernel.made_of(op.operands, roots)
    ]
    loads = kernel.results("load", "load_tensor_descriptor")
    return any(
        not kernel.stored.isdisjoint(op.results) and kernel.made_of(op.operands, loads)
        for op in scaled
    )


def is_softmax(kernel: Structure) -> bool:
    """Exponentials of what its maximum is taken from are summed."""
    maxima = kernel.results(*MAXIMA)
    weights = {
        result
        for op in kernel.coded(*EXPONENTIALS)
        for result in op.results
        if kernel.made_of(op.operands, maxima)
    }
    return any(kernel.made_of(op.operands, weights) for op in kernel.coded("sum", "reduce"))


def has_state(kernel: Structure) -> bool:
    """A loop multiplies what it carries, or a scan runs."""
    if kernel.results("associative_scan", "cumsum", "cumprod"):
        return True
    for loop, argument, around in carried(kernel):
        behind = kernel.behind(around)
        for op in kernel.coded("mul", "dot"):
            inside = op.loop is loop and op.rank and not behind.isdisjoint(op.results)
            if inside and argument in kernel.behind(op.operands):
                return True
    return False


CLASSES = (
    ("attention-like", is_attention, "a product, less its maximum, through `exp` into a product"),
    ("swizzled matmul", lambda k: is_matmul(k) and is_swizzled(k), "blocks of rows are launched in groups"),
    ("other matmul", is_matmul, "a loop adds up products of tiles that no product is in"),
    ("scan, recurrence", has_state, "a loop multiplies what it carries, or a scan runs"),
    ("other products", lambda k: bool(k.dots), "all else with `tl.dot`"),
    ("norm", is_norm, "the root of a sum of a row scales the row"),
    ("softmax, loss", is_softmax, "exponentials less a maximum are summed"),
    ("reduction", lambda k: bool(k.coded("sum", "reduce", "max", "min")), "all else with a sum or a maximum"),
    ("element by element", lambda k: True, "the rest"),
)  # fmt: skip


def class_of(kernel: Structure) -> str:
    """The first class that fits."""
    return next(name for name, test, _ in CLASSES if test(kernel))


def structures(text: str) -> Iterator[Structure]:
    """The kernels of a dump of the IR."""
    name, parameters, lines = "", "", list[str]()
    for line in text.splitlines():
        head = HEAD.match(line)
        if head:
            name, parameters, lines = head[1], head[2], []
        elif line == "}":
            yield Structure(name, NAME.findall(parameters), lines)
        elif line:
            lines.append(line)
