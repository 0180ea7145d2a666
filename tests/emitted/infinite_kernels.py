"""Kernels that are finite where elements count, and may be anything elsewhere: 1 / 0, log 0, -inf - -inf, 0 / 0.

Out: `kernel(seed)`, the text of a module with one kernel, `drawn`, and the comment that configures it: ragged last
blocks, padded columns, loops that may run no time. What counts stays positive through all operations, so each
derivative there is a number; what a mask or a `tl.where` leaves out goes through them as well, and is none.
"""

from __future__ import annotations

import random
import re

ROWS, COLUMNS = 8, 8
TILE_STEPS = (
    "{a} + {b}",
    "{a} * {b}",
    "{a} / {b}",
    "tl.maximum({a}, {b})",
    "tl.minimum({a}, {b})",
    "1.0 / {a}",
    "0.5 / ({a} * {b})",
    "tl.sqrt({a})",
    "tl.rsqrt({a})",
    "tl.sqrt(1.0 / {a})",
    "tl.abs(tl.log({a})) + 0.3",
    "tl.log({a} / {b}) * tl.log({a} / {b}) + 0.4",
    "tl.exp(-{a})",
    "tl.exp(tl.log({a}) * 0.5)",
    "tl.exp(1.0 / ({a} + 1.0))",
    "tl.exp(-tl.log({a}) * tl.log({a})) + 0.2",
    "tl.fma({a}, {b}, {a})",
    "tl.sigmoid({a}) / {b}",
    "{a} * w0[None, :]",
    "{a} / w0[None, :]",
    "{a} * u0[:, None]",
    "{a} / u0[:, None]",
    "{a} * g0",
    "g0 / {a}",
    "tl.cumsum({a}, 1)",
    "tl.where(ok, {a}, 0.0)",
    "tl.where(ok, {a}, 0.0) + {b}",
    "tl.where(columns, {a}, 1.0)",
    "tl.where({a} > 0.7, tl.log({a} - 0.6) + 3.0, {b})",
    "tl.where({a} > {b}, tl.sqrt({a} - {b} + 0.1), {b})",
    "tl.where({a} < 0.0, 0.0, tl.sqrt({a}))",
    # a row's number and a column's: both count, and what they make of each other here does not
    "tl.where(below, tl.exp((u0[:, None] - w0[None, :]) * 3000.0) / g0 + {a}, {b})",
    "tl.where(u0[:, None] >= w0[None, :], {a}, {b} + g0 * tl.exp((u0[:, None] - w0[None, :]) * 3000.0))",
)
MASKED = ("tl.where(columns, {a}, 0.0)", "tl.where(ok, {a}, 0.0)")
ROW_STEPS = (
    "{p} + {q}",
    "{p} / {q}",
    "1.0 / {p}",
    "tl.rsqrt({p})",
    "tl.abs(tl.log({p})) + 0.2",
    "{p} * u0",
    "u0 / {p}",
    "{p} * g0",
    "tl.where(inside, {p}, 0.0)",
    "tl.where({p} == 0.0, 1.0, {p})",
)
BODIES = (
    ("{a}", "{a} + 1.0 / {b}"),
    ("{a}", "0.5 * {a} + tl.sqrt({b})"),
    ("{a}", "{b} / ({a} + 0.5)"),
)


class Author:
    """Writes one kernel."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.outputs: list[str] = []
        self.tiles = ["a0"]
        self.rows: list[str] = []
        self.count = 0

    def pick(self, items: tuple | list) -> object:
        return self.random.choice(items)

    def line(self, text: str) -> None:
        self.lines.append("    " + text)

    def name(self, kind: str) -> str:
        self.count += 1
        return f"{kind}{self.count}"

    def recent(self, names: list[str]) -> str:
        return self.pick(names[-3:])

    def step(self) -> None:
        name = self.name("a")
        text = self.pick(TILE_STEPS).format(a=self.recent(self.tiles), b=self.recent(self.tiles))
        self.line(f"{name} = {text}")
        self.tiles.append(name)

    def softmax(self) -> None:
        score, exponential, name = self.name("s"), self.name("e"), self.name("a")
        mask = self.pick(("ok", "columns"))
        self.line(f'{score} = tl.where({mask}, {self.recent(self.tiles)}, -float("inf"))')
        if self.random.random() < 0.5:
            top = self.name("t")
            self.line(f"{top} = tl.max({score}, 1)")
            self.line(f'{top} = tl.where({top} == -float("inf"), 0.0, {top})')
            self.line(f"{exponential} = tl.exp({score} - {top}[:, None])")
        else:
            self.line(f"{exponential} = tl.exp({score} - tl.max({score}, 1)[:, None])")
        self.line(f"{name} = {exponential} / tl.sum({exponential}, 1)[:, None] + 0.01")
        self.tiles.append(name)

    def reduce(self) -> None:
        name, back = self.name("p"), self.name("a")
        masked = self.pick(MASKED).format(a=self.recent(self.tiles))
        self.line(f"{name} = tl.{self.pick(('sum', 'sum', 'max'))}({masked}, 1)")
        for _ in range(self.random.randint(0, 2)):
            step = self.pick(ROW_STEPS).format(p=name, q=self.pick([*self.rows[-2:], name]))
            name = self.name("p")
            self.line(f"{name} = {step}")
        self.rows.append(name)
        form = self.pick(("{a} / {p}[:, None]", "{a} * {p}[:, None]", "{p}[:, None] / {a}"))
        self.line(f"{back} = {form.format(a=self.recent(self.tiles), p=name)}")
        self.tiles.append(back)

    def loop(self) -> None:
        name, other = self.name("a"), self.recent(self.tiles)
        start, body = self.pick(BODIES)
        self.line(f"{name} = {start.format(a=self.recent(self.tiles))}")
        self.line(f"for _ in range(0, {self.pick(('L', 'Z', '2'))}):")
        self.line(f"    {name} = {body.format(a=name, b=other)}")
        self.tiles.append(name)

    def branch(self) -> None:
        name, other = self.name("a"), self.recent(self.tiles)
        self.line(f"{name} = {self.recent(self.tiles)}")
        self.line(f"if {self.pick(('L > 0', 'Z > 0', 'FLAG'))}:")
        self.line(f"    {name} = {self.pick(('1.0 / {b}', 'tl.sqrt({b})')).format(b=other)}")
        if self.random.random() < 0.5:
            self.line("else:")
            self.line(f"    {name} = {self.pick(('{b}', 'tl.rsqrt({b})')).format(b=other)}")
        self.tiles.append(name)

    def store(self) -> None:
        kind = self.random.random()
        name = f"y{len(self.outputs)}"
        value = self.recent(self.tiles)
        if kind < 0.6 or not self.rows:
            form = self.pick(("{a}", "{a}", "tl.where(ok, {a}, 0.0)", "{a} * {a}"))
            self.line(
                f"tl.store({name} + r[:, None] * m + c[None, :], {form.format(a=value)}, mask=ok)"
            )
            self.outputs.append(f"{name}=f32[n, m]")
        elif kind < 0.85:
            self.line(f"tl.store({name} + r, {self.pick(self.rows)}, mask=inside)")
            self.outputs.append(f"{name}=f32[n]")
        else:
            self.line(
                f"tl.atomic_add({name} + c, tl.sum(tl.where(inside[:, None], {value}, 0.0), 0), "
                "mask=c < m)"
            )
            self.outputs.append(f"{name}=f32[m]")


def without_unused(lines: list[str]) -> list[str]:
    """The statements of which a store has need, blocks as a whole."""
    blocks: list[list[str]] = []
    for line in lines:
        if line.startswith("     ") or line.lstrip().startswith("else"):
            blocks[-1].append(line)
        else:
            blocks.append([line])
    needed: set[str] = set()
    kept: list[str] = []
    for block in reversed(blocks):
        text = "\n".join(block)
        targets = set(re.findall(r"^\s*(\w+) = ", text, re.MULTILINE))
        if targets & needed or "tl.store" in text or "tl.atomic_add" in text:
            needed |= set(re.findall(r"\b[a-z]\d+\b", text))
            kept = block + kept
    return kept


def kernel(seed: int) -> str:
    """A file with the kernel `drawn` under its configuration."""
    author = Author(seed)
    other = author.pick(("0.0", "0.0", "0.0", "1.0", 'float("inf")', None))
    padding = f", other={other}" if other else ""
    author.line(f"a0 = tl.load(x + r[:, None] * m + c[None, :], mask=ok{padding})")
    steps = [author.step] * 6 + [author.reduce] * 3 + [author.softmax, author.loop, author.branch]
    for _ in range(author.random.randint(2, 7)):
        author.pick(steps)()
    for _ in range(author.random.randint(1, 2)):
        author.store()
    names = [output.split("=")[0] for output in author.outputs]
    n, m = author.random.choice((5, 8, 11)), author.random.choice((5, 6, 8))
    values = [
        f"n={n}, m={m}, x=f32[n, m] in uniform(0.4, 1.6), w=f32[m] in uniform(0.5, 1.5)",
        "u=f32[n] in uniform(0.5, 1.5), g=f32[1] in uniform(0.5, 1.5)",
        *author.outputs,
        f"L={author.random.randint(1, 2)}, Z=0, FLAG={author.random.random() < 0.5}",
        f"BM={ROWS}, BN={COLUMNS}, grid=({-(-n // ROWS)},)",
    ]
    lines = [
        "import triton",
        "import triton.language as tl",
        "",
        "",
        f"# tad: {', '.join(values)}",
        "@triton.jit",
        f"def drawn(x, w, u, g, {', '.join(names)}, n, m, L, Z, FLAG: tl.constexpr, "
        "BM: tl.constexpr, BN: tl.constexpr):",
        "    r = tl.program_id(0) * BM + tl.arange(0, BM)",
        "    c = tl.arange(0, BN)",
        "    inside = r < n",
        "    columns = c[None, :] < m",
        "    ok = (r[:, None] < n) & columns",
        "    w0 = tl.load(w + c, mask=c < m, other=0.0)",
        "    u0 = tl.load(u + r, mask=inside, other=0.0)",
        "    g0 = tl.load(g)",
        "    below = u0[:, None] < w0[None, :]",
        *without_unused(author.lines),
    ]
    return "\n".join(lines) + "\n"
