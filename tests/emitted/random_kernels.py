"""Kernels of every shape: a hypothesis strategy for straight lines, branches and loops over a few names that are
used again and again, with loads at affine addresses that may overlap and stores that never do.

Out: the text of a module with one kernel, `drawn`, and the comment that configures it. Those of `modules` read and
write different tensors; those of `in_place_modules` load and store the same ones, each program a part of its own;
those of `choice_modules` choose between few values, again and again under the same two conditions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from hypothesis import strategies as st

LANES = 4
MOST_ITERATIONS = 3
TENSORS = ("x", "w", "z", "q")
TILES = ("a", "b", "acc", "v")
SCALARS = ("s", "m")
WEIGHTS = (1, 2, 3, LANES, 5, 2 * LANES, 20)
UNARY = (
    "tl.sin({})",
    "tl.exp(0.2 * tl.sin({}))",
    "tl.sigmoid({})",
    "tl.sqrt(0.5 + {0} * {0})",
    "tl.abs({})",
)
BINARY = (
    "({} + {})",
    "({} - {})",
    "({} * {})",
    "({} / (1.5 + tl.sin({})))",
    "tl.maximum({}, {})",
)
GROWTH = ("{0} + {1}", "0.5 * {0} + {1}", "tl.sin({0}) + {1}", "tl.maximum({0}, {1})")
REDUCTIONS = ("tl.sum({}, axis=0)", "tl.max({}, axis=0)", "tl.min({}, axis=0)")
SELECTIONS = ("tl.where(c % 2 == 0, {}, {})", "tl.where(c < n, {}, {})", "tl.where(c == p, {}, {})")
CONDITIONS = ("p % 2 == 0", "FLAG", "start > 0.0")


@dataclass
class Scope:
    """What may be read and assigned at one place."""

    tiles: list[str]
    scalars: list[str]
    loops: list[str] = field(default_factory=list)
    in_while: bool = False

    def inner(self, loop: str | None = None, in_while: bool = False) -> Scope:
        loops = self.loops + ([loop] if loop else [])
        return Scope(list(self.tiles), list(self.scalars), loops, self.in_while or in_while)


class Author:
    """Writes one kernel, each choice drawn."""

    def __init__(self, draw: Callable) -> None:
        self.draw = draw
        self.lines: list[str] = []
        self.outputs: list[str] = []
        self.counters = 0
        self.reach = 0  # the last element that a load may touch

    def one_of(self, items: tuple[str, ...] | list[str] | tuple[int, ...]) -> str:
        return self.draw(st.sampled_from(items))

    def chance(self) -> bool:
        return self.draw(st.booleans())

    def line(self, depth: int, text: str) -> None:
        self.lines.append("    " * (depth + 1) + text)

    # ---- expressions ----

    def tile(self, scope: Scope, depth: int = 0) -> str:
        kind = self.draw(st.integers(0, 5)) if depth < 3 else 0
        if kind == 1:
            return self.one_of(UNARY).format(self.tile(scope, depth + 1))
        if kind in (2, 3):
            parts = [self.tile(scope, depth + 1), self.tile(scope, depth + 1)]
            if kind == 3:
                parts[self.chance()] = self.scalar(scope, depth + 1)
            return self.one_of(BINARY).format(*parts)
        if kind == 4:
            both = self.tile(scope, depth + 1), self.tile(scope, depth + 1)
            return self.one_of(SELECTIONS).format(*both)
        if kind == 5:
            return f"tl.cumsum({self.tile(scope, depth + 1)}, axis=0)"
        return self.one_of(scope.tiles)

    def scalar(self, scope: Scope, depth: int = 0) -> str:
        kind = self.draw(st.integers(0, 3)) if depth < 3 else 0
        if kind == 1:
            return self.one_of(UNARY).format(self.scalar(scope, depth + 1))
        if kind == 2:
            both = self.scalar(scope, depth + 1), self.scalar(scope, depth + 1)
            return self.one_of(BINARY).format(*both)
        if kind == 3:
            return self.one_of(REDUCTIONS).format(self.tile(scope, depth + 1))
        return self.one_of(scope.scalars)

    def address(self, scope: Scope, is_tile: bool) -> str:
        terms = []
        start = self.draw(st.sampled_from((0, 0, 1, LANES, 7)))
        self_reach = start
        for axis in ["p", *scope.loops]:
            if self.draw(st.integers(0, 4)):
                weight = self.draw(st.sampled_from(WEIGHTS))
                terms.append(f"{axis} * {weight}")
                self_reach += weight * (MOST_ITERATIONS - 1)
        if is_tile:
            lane = self.draw(st.sampled_from(("c", "c", "c", "2 * c", "(3 - c)")))
            terms.append(lane)
            self_reach += 2 * LANES
        self.reach = max(self.reach, self_reach)
        return " + ".join([*terms, str(start)])

    # ---- statements ----

    def load(self, depth: int, scope: Scope) -> None:
        is_tile = self.chance() or self.chance()
        name = self.one_of(scope.tiles if is_tile else scope.scalars)
        mask = ", mask=c < n, other=0.0" if is_tile and self.chance() else ""
        self.line(depth, f"{name} = {self.loaded(scope, is_tile, mask)}")

    def loaded(self, scope: Scope, is_tile: bool, mask: str = "") -> str:
        return f"tl.load({self.one_of(TENSORS)} + {self.address(scope, is_tile)}{mask})"

    def begin(self, scope: Scope) -> None:
        """Every name gets a value before anything else happens."""
        for name in scope.tiles:
            zeros = "tl.zeros([B], tl.float32)"
            self.line(0, f"{name} = {zeros if self.chance() else self.loaded(scope, True)}")
        for name in scope.scalars:
            self.line(0, f"{name} = {'0.5' if self.chance() else self.loaded(scope, False)}")

    def assign(self, depth: int, scope: Scope) -> None:
        is_tile = self.chance() or self.chance()
        name = self.one_of(scope.tiles if is_tile else scope.scalars)
        value = self.tile(scope, 1) if is_tile else self.scalar(scope, 1)
        if self.chance():
            value = self.one_of(GROWTH).format(name, value)
        self.line(depth, f"{name} = {value}")

    def store(self, depth: int, scope: Scope) -> None:
        name = f"y{len(self.outputs)}"
        self.outputs.append(name)
        place = "p"
        for loop in scope.loops:
            place = f"({place} * {MOST_ITERATIONS} + {loop})"
        self.line(depth, f"tl.store({name} + {place} * {LANES} + c, {self.tile(scope)})")

    def branch(self, depth: int, scope: Scope, budget: int) -> None:
        conditions = CONDITIONS + tuple(f"{loop} % 2 == 0" for loop in scope.loops)
        self.line(depth, f"if {self.one_of(conditions)}:")
        self.block(depth + 1, scope.inner(), budget - 1)
        if self.chance():
            self.line(depth, "else:")
            self.block(depth + 1, scope.inner(), budget - 1)

    def loop(self, depth: int, scope: Scope, budget: int) -> None:
        if self.draw(st.integers(0, 3)) == 0:
            counter = f"k{self.counters}"
            self.counters += 1
            self.line(depth, f"{counter} = 0")
            self.line(depth, f"while {counter} < {self.one_of(('L', 'M', '2'))}:")
            self.block(depth + 1, scope.inner(in_while=True), budget - 1)
            self.line(depth + 1, f"{counter} += 1")
            return
        name = "ij"[len(scope.loops)]
        bounds = self.one_of(("range(L)", "range(M)", "range(L - 1, -1, -1)", "tl.static_range(2)"))
        self.line(depth, f"for {name} in {bounds}:")
        self.block(depth + 1, scope.inner(name), budget - 1)

    def block(self, depth: int, scope: Scope, budget: int) -> None:
        for _ in range(self.draw(st.integers(1, 4))):
            kind = self.draw(st.integers(0, 9))
            if kind < 3:
                self.load(depth, scope)
            elif kind == 3 and not scope.in_while:
                self.store(depth, scope)
            elif kind == 4 and budget > 0:
                self.branch(depth, scope, budget)
            elif kind in (5, 6) and budget > 0 and len(scope.loops) < 2:
                self.loop(depth, scope, budget)
            else:
                self.assign(depth, scope)


PART = 40  # elements of a tensor that one program has for itself
IN_PLACE = ("x", "z")


class Rewriter(Author):
    """Loads and stores tensors in place, at few places, so that many of them meet."""

    def __init__(self, draw: Callable) -> None:
        super().__init__(draw)
        self.places: list[tuple[int, str]] = []

    def place(self, scope: Scope) -> str:
        known = [place for loops, place in self.places if loops <= len(scope.loops)]
        if known and self.chance():
            return self.one_of(known)
        terms = [f"p * {PART}"]
        for loop in scope.loops:
            if self.draw(st.integers(0, 4)):
                terms.append(f"{loop} * {self.draw(st.sampled_from((1, LANES, 2 * LANES)))}")
        place = " + ".join([*terms, "c", str(self.draw(st.sampled_from((0, 1, LANES))))])
        self.places.append((len(scope.loops), place))
        return place

    def load(self, depth: int, scope: Scope) -> None:
        mask = ", mask=c < 3, other=0.0" if self.draw(st.integers(0, 3)) == 0 else ""
        name, tensor = self.one_of(scope.tiles), self.one_of(IN_PLACE)
        self.line(depth, f"{name} = tl.load({tensor} + {self.place(scope)}{mask})")

    def store(self, depth: int, scope: Scope) -> None:
        mask = ", mask=c < 3" if self.draw(st.integers(0, 3)) == 0 else ""
        value, tensor = self.tile(scope, 2), self.one_of(IN_PLACE)
        self.line(depth, f"tl.store({tensor} + {self.place(scope)}, {value}{mask})")

    def block(self, depth: int, scope: Scope, budget: int) -> None:
        for _ in range(self.draw(st.integers(1, 5))):
            kind = self.draw(st.integers(0, 9))
            if kind < 3:
                self.load(depth, scope)
            elif kind < 6:
                self.store(depth, scope)
            elif kind == 6 and budget > 0:
                self.branch(depth, scope, budget)
            elif kind == 7 and budget > 0 and len(scope.loops) < 1:
                name = "ij"[len(scope.loops)]
                self.line(depth, f"for {name} in range({self.one_of(('L', 'M'))}):")
                self.block(depth + 1, scope.inner(name), budget - 1)
            else:
                self.assign(depth, scope)


SIDES = ("c < 3", "c % 2 == 0")
STEPS = (
    "tl.where(inside, {0}, {1})",
    "tl.where(even, {0}, {1})",
    "tl.where(inside, {0}, 0.0)",
    "tl.where(even, 0.0, {0})",
    "-{0}",
    "{0} + {0}",
    "{0} + {1} + {0}",
    "{0} - {1}",
    "{0} * {1}",
    "{0} * -0.5",
    "tl.sin({0})",
    "{0} / ({1} * {1} + 1.0)",
)


def module(values: list[str], parameters: list[str], flag: bool, body: list[str]) -> str:
    """A file with the kernel `drawn` under its configuration."""
    lines = [
        "import triton",
        "import triton.language as tl",
        "",
        "",
        f"# tad: {', '.join(values)}, n=3, FLAG={flag}, B={LANES}",
        "@triton.jit",
        f"def drawn({', '.join(parameters)}, L, M, n, FLAG: tl.constexpr, B: tl.constexpr):",
        "    p = tl.program_id(0)",
        "    c = tl.arange(0, B)",
        *body,
    ]
    return "\n".join(lines) + "\n"


@st.composite
def modules(draw: Callable) -> str:
    """Kernels whose loads may overlap and whose stores never do."""
    author = Author(draw)
    scope = Scope(list(TILES), list(SCALARS))
    author.line(0, "start = tl.load(w + p)")
    author.begin(scope)
    author.block(0, scope, 3)
    author.store(0, scope)
    programs, iterations, inner = (draw(st.integers(1, MOST_ITERATIONS)) for _ in range(3))
    values = [f"{name}=f32[{author.reach + 1}]" for name in TENSORS]
    values += [f"{name}=f32[{programs * MOST_ITERATIONS**2 * LANES}]" for name in author.outputs]
    values += [f"L={iterations}", f"M={inner}", f"grid=({programs},)"]
    return module(values, [*TENSORS, *author.outputs], draw(st.booleans()), author.lines)


@st.composite
def in_place_modules(draw: Callable) -> str:
    """Kernels that load what they stored and store where they loaded."""
    author = Rewriter(draw)
    scope = Scope(list(TILES), list(SCALARS))
    author.line(0, "start = tl.load(w + p)")
    for name in TILES:
        author.line(0, f"{name} = tl.load(w + p * {LANES} + c)")
    for name in SCALARS:
        author.line(0, f"{name} = tl.load(w + p * {LANES})")
    author.block(0, scope, 2)
    author.line(0, f"tl.store(y + p * {LANES} + c, {author.tile(scope)})")
    programs, iterations, inner = (draw(st.integers(1, MOST_ITERATIONS)) for _ in range(3))
    values = [f"{name}=f32[{programs * PART}]" for name in IN_PLACE]
    values += [f"{name}=f32[{programs * LANES}]" for name in ("w", "y")]
    values += [f"L={iterations}", f"M={inner}", f"grid=({programs},)"]
    return module(values, [*IN_PLACE, "w", "y"], draw(st.booleans()), author.lines)


@st.composite
def choice_modules(draw: Callable) -> str:
    """Straight lines of choices, signs and doubled values, each read in several places."""
    author = Author(draw)
    for name, condition in zip(("inside", "even"), SIDES, strict=True):
        author.line(0, f"{name} = {condition}")
    values = ["x", "w"]
    for name, tensor in zip(values, "XW", strict=True):
        author.line(0, f"{name} = tl.load({tensor} + p * {LANES} + c)")
    for i in range(draw(st.integers(4, 10))):
        operands = author.one_of(values[-4:]), author.one_of(values[-5:])
        values.append(f"v{i}")
        author.line(0, f"v{i} = {author.one_of(STEPS).format(*operands)}")
    mask = ", mask=inside" if author.chance() else ""
    author.line(0, f"tl.store(Y + p * {LANES} + c, {values[-1]}{mask})")
    author.line(0, f"tl.store(Z + p * {LANES} + c, {author.one_of(values[2:])})")
    buffers = [f"{name}=f32[{2 * LANES}]" for name in "XWYZ"]
    return module([*buffers, "L=1, M=1, grid=(2,)"], list("XWYZ"), False, author.lines)
