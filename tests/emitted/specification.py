"""Reads `# tad:` lines: the arguments and the grid a kernel is run with, as NumPy data.

In: the text of a line, as a person writes it above a kernel or tad-runner reports it.  Out: a `Specification`.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field

import numpy as np

INTEGER = {"i1", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"}
BUFFER = re.compile(
    r"^(?P<type>f16|bf16|f32|f64|i1|i8|i16|i32|i64|u8|u16|u32|u64|fp16|fp32|fp64)\s*"
    r"(?:\[(?P<shape>.*?)\])?\s*(?:strides\s*(?P<strides>\(.*?\)))?\s*(?:in\s+(?P<content>.*))?$"
)
UNKNOWN_EXTENT = 1 << 15
# Before the name of a function of the kernel's file.
FUNCTION = "function:"


@dataclass
class Buffer:
    """A pointer argument; shape None: only its type is known."""

    type: str
    shape: tuple[int, ...] | None
    strides: tuple[int, ...] | None
    content: str

    @property
    def extent(self) -> int:
        """Elements of memory."""
        if self.shape is None:
            return UNKNOWN_EXTENT
        if self.strides is None:
            return math.prod(self.shape)
        return 1 + sum((n - 1) * s for n, s in zip(self.shape, self.strides, strict=True))

    @property
    def is_integer(self) -> bool:
        """Whether it holds integers."""
        return self.type in INTEGER


@dataclass
class Specification:
    """Arguments by name (`Buffer`, numbers, None, text), and the grid."""

    values: dict[str, object] = field(default_factory=dict)
    grid: tuple[int, ...] = (1,)

    def buffers(self) -> dict[str, Buffer]:
        """The pointer arguments."""
        return {k: v for k, v in self.values.items() if isinstance(v, Buffer)}


def items_of(text: str) -> list[tuple[str, str]]:
    """`NAME=value` pairs, split at commas outside brackets."""
    pairs, depth, start = [], 0, 0
    for i, char in enumerate(text + ","):
        depth += (char in "([") - (char in ")]")
        if char == "," and depth == 0:
            name, _, value = text[start:i].partition("=")
            if name.strip():
                pairs.append((name.strip(), value.strip()))
            start = i + 1
    return pairs


def parse(text: str) -> Specification:
    """A `# tad:` line."""
    scope: dict[str, object] = {
        "cdiv": lambda a, b: -(-a // b),
        "next_power_of_2": lambda n: 1 << (max(1, n) - 1).bit_length(),
        "min": min,
        "max": max,
    }
    result = Specification()
    for name, value in items_of(text.strip().removeprefix("#").strip().removeprefix("tad:")):
        found = BUFFER.match(value)
        if found:
            result.values[name] = Buffer(
                found["type"],
                tuple(eval(f"({found['shape']},)", {}, scope)) if found["shape"] else None,
                tuple(eval(found["strides"], {}, scope)) if found["strides"] else None,
                found["content"] or "",
            )
            continue
        if value.isidentifier() and value not in {*scope, "True", "False", "None"}:
            result.values[name] = f"{FUNCTION}{value}"
            continue
        result.values[name] = eval(value, {"__builtins__": {}}, scope)
        scope[name] = result.values[name]
    grid = result.values.pop("grid", (1,))
    result.grid = tuple(grid) if isinstance(grid, tuple | list) else (grid,)
    return result


def content(buffer: Buffer, random: np.random.Generator) -> np.ndarray:
    """Data as the line asks for it; doubles, or 32-bit integers."""
    n, text = buffer.extent, buffer.content
    numbers = [float(x) for x in re.findall(r"-?[\d.]+(?:e-?\d+)?", text)]
    if text.startswith("zeros"):
        data = np.zeros(n)
    elif text.startswith("distinct"):
        data = random.permutation(n).astype(float)
    elif text.startswith("range"):
        low, high = (numbers[0], numbers[1]) if len(numbers) == 2 else (0, numbers[0])
        data = random.integers(int(low), int(high), n).astype(float)
    elif text.startswith("growing"):
        data = np.sort(random.integers(0, int(numbers[0]), n)).astype(float)
    elif text.startswith("uniform"):
        data = random.uniform(numbers[0], numbers[1], n)
    elif text.startswith("("):
        data = np.resize(np.array(numbers), n)
    elif buffer.is_integer:
        data = random.integers(0, 2 if buffer.type == "i1" else 5, n).astype(float)
    else:
        data = random.standard_normal(n)
    return data.astype(np.int32) if buffer.is_integer else data
