"""Kernels that nobody means: drawn at random from what overflows, nests, repeats and contradicts itself."""

from __future__ import annotations

import random

HEAD = """import torch
import triton
import triton.language as tl


@triton.jit
def f(a, b):
    return a + b


@triton.jit
def h(x, y=1, z=2):
    return x * y, z


"""
NUMBERS = [
    "0", "1", "-1", "2", "7", "1 << 62", "-(1 << 63)", "9223372036854775807", "2 ** 64", "4294967296",
    "1e308", "-0.0", "float('inf')", "float('nan')", "True", "None", "'x'", "B", "n", "3.5", "(1, 2)",
    "()", "tl.float32",
]  # fmt: skip
RANKS = [0, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12]
AXES = [0, 1, 2, -1, -2, 5, 6, 7, 8, -9, 100, 2**40, -(2**63)]
OPERATIONS = [
    "{d} = {tile}",
    "{d} = {tile}",
    "{d} = {v} {binary} {u}",
    "{d} = {v} {binary} {number}",
    "{d} = tl.{reduction}({v}, axis={axis})",
    "{d} = tl.{reduction}({v}, {axis}, keep_dims=True)",
    "{d} = tl.{reduction}({v}, axis={number})",
    "{d} = tl.reshape({v}, {shape})",
    "{d} = tl.permute({v}, {order})",
    "{d} = tl.trans({v}, {order})",
    "{d} = tl.expand_dims({v}, {axis})",
    "{d} = tl.expand_dims({v}, (7, 8, 9, 10))",
    "{d} = tl.broadcast_to({v}, {shape})",
    "{d} = {v}[{index}]",
    "{d} = tl.load(x_ptr + {v}, mask={u} < n, other={number})",
    "tl.store(y_ptr + {v}, {u}, mask={u} < n)",
    "tl.atomic_add(y_ptr + {v}, {u})",
    "{d} = tl.join({v}, {u})",
    "{d}, {v} = tl.split({u})",
    "{d} = tl.cat({v}, {u}, can_reorder=True)",
    "{d} = tl.dot({v}, {u}, {v})",
    "{d} = tl.where({v} > 0, {u}, {number})",
    "{d} = tl.{function}({v})",
    "{d} = {v}.to(tl.{dtype})",
    "{d} = {v}.view({shape}) + tl.ravel({u})",
    "{d} = tl.load(tl.make_block_ptr(x_ptr, {shape}, {shape}, {shape}, {shape}, {shape}))",
    "{d} = tl.make_tensor_descriptor(x_ptr, {shape}, {shape}, {shape}).load({shape})",
    "{d} = tl.reduce(({many},), {axis}, f)",
    "{d} = h({many})",
    "{d} = ({many},)[{axis}]",
    "{d} = tl.gather({v}, {u}, {axis}) + tl.histogram({v}, {number}) + tl.rand({u}, {v})",
]
LAUNCHER_STEPS = [
    "x = x.view({shape})", "n = n * n + n", "x = x.permute({axes})", "n = n << {number}", "n = n ** n",
    "x = torch.stack([x] * 300)", "x = x.unsqueeze({axis})", "x = x.expand({shape})", "n = x.shape[{axis}]",
    "x = x[{index}]", "n = n // {number}", "x = torch.split(x, {number})[0]", "x = x.flatten({axis}, 3)",
    "x = x.transpose({axis}, 1)", "x = torch.cat([x] * 100, {axis})", "x = x.repeat({many})",
]  # fmt: skip


class Hostile:
    """One kernel with its launcher; the same for the same seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def text(self) -> str:
        some = self.random
        extra = [f"a{i}" for i in range(some.choice([0, 0, 0, 0, 3, 30, 300]))]
        body = ["pid = tl.program_id(0)", "o = pid * B + tl.arange(0, B)"]
        body += ["x = tl.load(x_ptr + o, mask=o < n, other=0.0)", "y = x * 2.0", "z = o", "w = n"]
        if extra:
            body.append("w = " + " + ".join(extra))
        if some.random() < 0.6:
            body += self.softmax(some.randrange(1, 13))
        lines = ["    " + line for line in body] + self.block(1, some.choice([0, 1, 2, 4]))
        lines.append("    tl.store(y_ptr + o, x, mask=o < n)")
        parameters = ", ".join(
            ["x_ptr", "y_ptr", "n", *extra, "F: tl.constexpr", "B: tl.constexpr"]
        )
        return (
            f"{HEAD}@triton.jit\ndef k({parameters}):\n" + "\n".join(lines) + self.launcher(extra)
        )

    def softmax(self, rank: int) -> list[str]:
        """Along one of many axes, which derives."""
        axis = self.random.randrange(rank)
        index = ", ".join(":" if i == axis else "None" for i in range(rank))
        shared = f"axis={axis}, keep_dims=True"
        return [
            f"i = o[{index}]",
            "v = tl.load(x_ptr + i, mask=i < n, other=0.0)",
            f"e = tl.exp(v - tl.max(v, {shared}))",
            f"tl.store(y_ptr + i, e / tl.sum(e, {shared}), mask=i < n)",
        ]

    def launcher(self, extra: list[str]) -> str:
        some = self.random
        steps = "".join(
            f"    {self.filled(some.choice(LAUNCHER_STEPS))}\n" for _ in range(some.randrange(4))
        )
        passed = ", ".join(
            ["x", "y", "n", *(some.choice(["n", "x.stride(0)", "1", "2.0"]) for _ in extra), "True"]
        )
        block = some.choice(["64", "16", "1", "3", "0", "1 << 20", "1 << 40", "-1"])
        grid = some.choice(
            ["(triton.cdiv(n, 64),)", "(n, n, n)", "(n,) * 9", "(1 << 40,)", "(-1,)"]
        )
        new = some.choice(["x.shape", "(x.shape[0], 1 << 40)", "(1,) * 12", "[1] * (1 << 40)"])
        return (
            f"\n\n\ndef launch(x):\n    y = torch.empty({new})\n    n = x.numel()\n{steps}"
            f"    k[{grid}]({passed}, B={block})\n    return y\n"
        )

    def block(self, indent: int, depth: int) -> list[str]:
        some, lines, margin = self.random, [], "    " * indent
        for _ in range(some.randrange(2, 7)):
            kind = some.random()
            if depth and kind < 0.1:
                ends = some.choice(
                    ["n", "0, n, B", "4", "0, 10, -1", "1 << 62", "3, 3, 0", "-5, 5"]
                )
                form = some.choice(["range", "tl.range", "tl.static_range"])
                lines += [
                    f"{margin}for i{indent} in {form}({ends}):",
                    *self.block(indent + 1, depth - 1),
                ]
            elif depth and kind < 0.2:
                condition = some.choice(
                    ["n > 3", "B > 4", "x", "F", "True", "tl.sum(x) > 0", "pid == 0"]
                )
                lines += [f"{margin}if {condition}:", *self.block(indent + 1, depth - 1)]
                if some.random() < 0.5:
                    lines += [f"{margin}else:", *self.block(indent + 1, depth - 1)]
            elif depth and kind < 0.23:
                lines += [f"{margin}while n > 0:", f"{margin}    n -= 1"]
                lines += self.block(indent + 1, depth - 1)
            elif kind < 0.25:
                lines.append(
                    margin + some.choice(["return", "return x", "break", "return x, y, z"])
                )
            else:
                lines.append(margin + self.filled(some.choice(OPERATIONS)))
        return lines

    def filled(self, pattern: str) -> str:
        some = self.random
        rank = some.choice(RANKS)
        return pattern.format(
            d=some.choice("xyzw"),
            v=some.choice("xyzw"),
            u=some.choice("xyzw"),
            tile=self.tile(rank),
            shape=self.shape(rank),
            number=some.choice(NUMBERS),
            axis=some.choice(AXES),
            axes=", ".join(map(str, range(max(rank, 1)))),
            order=", ".join(
                str(some.choice([i, i, i, some.randrange(-9, 12)])) for i in range(rank + 1)
            ),
            index=", ".join(
                some.choice(["None", ":", ":", "0", "...", "::2", "-1"])
                for _ in range(some.randrange(1, 12))
            ),
            many=", ".join(some.choice("xyzw") for _ in range(some.randrange(1, 13))),
            binary=some.choice(
                ["+", "-", "*", "/", "//", "%", "**", "&", "|", "<<", ">>", "==", "<", "and"]
            ),
            reduction=some.choice(
                ["sum", "max", "argmin", "softmax", "cumsum", "cumprod", "sort", "flip"]
            ),
            function=some.choice(["exp", "log", "sqrt", "abs", "floor", "sigmoid", "erf", "rsqrt"]),
            dtype=some.choice(
                ["float16", "int8", "int64", "float64", "bfloat16", "int1", "float8e5"]
            ),
        )

    def shape(self, rank: int) -> str:
        odd = ["-1", "0", "4", "n", "1 << 40", "B // 2", "B * B", "1 << 62"]
        dims = (
            self.random.choice(odd if self.random.random() < 0.15 else ["1", "2", "B"])
            for _ in range(rank)
        )
        return "(" + "".join(f"{dim}, " for dim in dims) + ")"

    def tile(self, rank: int) -> str:
        some = self.random
        if rank and some.random() < 0.5:
            axis = some.randrange(rank)
            return "o[" + ", ".join(":" if i == axis else "None" for i in range(rank)) + "]"
        return some.choice(
            [
                f"tl.zeros({self.shape(rank)}, tl.float32)",
                f"tl.full({self.shape(rank)}, {some.choice(NUMBERS)}, tl.int32)",
                f"tl.arange(0, {some.choice(['B', '1', '0', '1 << 40', '-4', '9'])})",
                "n",
            ]
        )
