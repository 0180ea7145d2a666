"""Runs a kernel and its derived backward in Triton's interpreter, with floats as doubles or as they are.

In: the request for a proof (plan.py) and what to run it with (specification.py).  Out: gradients by name, and the
derivative of the forward along a direction by central differences.
"""

from __future__ import annotations

import ast
import math
import re
from dataclasses import dataclass

import numpy as np

from tests.emitted.specification import FUNCTION, Buffer, Specification, content
from tests.support.worker import Worker
from tests.triton.interpret import interpret_kernel

STEP = 1e-5
# Triton has scalars in single precision: they move further, and by a power of two, which adds without rounding.
SCALAR_DIRECTION = 2.0**-11 / STEP
TAPE_STEPS = 3  # few, so that states between those that are kept are computed anew


def in_doubles(source: str) -> str:
    """The text with every float type a double, so that differences are sharp."""
    return re.sub(r"\btl\.(float32|float16|bfloat16)\b", "tl.float64", source)


def is_float(value: object) -> bool:
    """Whether an argument holds floats."""
    return isinstance(value, Buffer) and not value.is_integer


def added_up(use: dict, left: np.ndarray, before: np.ndarray | None) -> np.ndarray:
    """A gradient of what a launch left of it: the sum of its parts, where it comes in these."""
    return left.reshape(-1, len(before)).sum(0) if "parts" in use and before is not None else left


# What a launch of the backward may write to.
WRITTEN = ("gradient", "running", "kept", "scratch")


@dataclass
class Problem:
    """One kernel with the data it is run on."""

    proof: dict
    specification: Specification
    seed: int
    worker: Worker
    doubles: bool = True

    def __post_init__(self) -> None:
        random = np.random.default_rng(self.seed)
        buffers = self.specification.buffers()
        kind = np.float64 if self.doubles else np.float32
        self.data: dict[str, np.ndarray] = {}
        for name, buffer in buffers.items():
            data = content(buffer, random)
            written_only = name in self.proof["outputs"] and name not in self.proof["inputs"]
            if written_only and not buffer.is_integer:
                data = np.zeros_like(data)
            self.data[name] = data if buffer.is_integer else data.astype(kind)
        self.upstream = {
            name: random.standard_normal(len(self.data[name])).astype(kind)
            for name in self.proof["outputs"]
            if name in self.data
        }
        self.directions = {
            name: random.standard_normal(len(self.data[name]))
            for name in self.proof["inputs"]
            if is_float(buffers.get(name))
        }
        values = self.specification.values
        self.scalars = [n for n in self.proof["inputs"] if isinstance(values.get(n), float)]
        for name in self.scalars:
            values[name] = float(np.float32(values[name]))
            self.directions[name] = np.array([SCALAR_DIRECTION])

    def text(self, source: str) -> str:
        """The source to interpret."""
        return in_doubles(source) if self.doubles else source

    def run(self, source: str, kernel: str, arguments: dict[str, object]) -> dict[str, np.ndarray]:
        """One interpreted launch."""
        return interpret_kernel(
            self.text(source),
            kernel,
            self.specification.grid,
            arguments,
            {},
            worker=self.worker,
        )

    def forward(self, step: float = 0.0) -> dict[str, np.ndarray]:
        """The buffers after the forward, its inputs moved by `step` along the direction."""
        arguments: dict[str, object] = {
            k: v for k, v in self.specification.values.items() if k in self.parameters
        }
        for name, data in self.data.items():
            moved = data.copy()
            if step and name in self.directions:
                moved = data + step * self.directions[name]
            arguments[name] = moved
        for name in self.scalars:
            arguments[name] = arguments[name] + step * float(self.directions[name][0])  # type: ignore[operator]
        after = self.run(self.proof["source"], self.proof["kernel"], arguments)
        return {**{k: v for k, v in arguments.items() if isinstance(v, np.ndarray)}, **after}

    @property
    def parameters(self) -> set[str]:
        """Names of the forward's parameters."""
        for node in ast.walk(ast.parse(self.proof["source"])):
            if isinstance(node, ast.FunctionDef) and node.name == self.proof["kernel"]:
                given = node.args
                return {a.arg for a in given.posonlyargs + given.args + given.kwonlyargs}
        raise AssertionError(f"no kernel {self.proof['kernel']}")

    def arguments(self, launch: dict, after: dict[str, np.ndarray], gradients: dict) -> dict:
        """What a launch of the backward gets; gradient buffers and scratch are kept in `gradients`."""
        result: dict[str, object] = {}
        for name, use in launch["arguments"].items():
            of = next(iter(use.values()))
            if "same" in use:
                value = after.get(of, self.specification.values.get(of))
                result[name] = value
            elif "upstream" in use:
                result[name] = self.upstream.get(of, None)
            elif "parts" in use and of in gradients:
                result[name] = np.zeros(
                    self.slices(launch) * len(gradients[of]), gradients[of].dtype
                )
            elif "gradient" in use or "running" in use or "kept" in use:
                result[name] = gradients.get(of)
            elif "slices" in use:
                result[name] = self.slices(launch)
            elif "part_stride" in use:
                result[name] = len(gradients[of]) if of in gradients else 0
            elif "before" in use:
                result[name] = self.data.get(of)
            elif "amid" in use:
                result[name] = self.data[of].copy() if of in self.data else None
            elif "fill" in use:
                result[name] = False
            elif "programs" in use:
                result[name] = (*self.specification.grid, 1, 1)[use["programs"]]
            elif "described" in use:
                result[name] = 0  # through pointers
            elif "together" in use or "parts_of" in use:
                result[name] = 1
            elif "run_tile" in use:  # a few runs, and a part of most
                result[name] = (2, 4)[use["axis"]]
            elif "steps" in use or "stages" in use:
                result[name] = TAPE_STEPS
            elif "scratch" in use:
                if of not in gradients:  # what one launch leaves there is what the next one finds
                    gradients[of] = self.scratch(use, launch)
                result[name] = gradients[of]
            else:
                raise AssertionError(f"an argument of a kind this does not know: {use}")
        return result

    def slices(self, launch: dict) -> int:
        """Programs that share sums, no more than there are."""
        use = next(u for u in launch["arguments"].values() if "slices" in u)
        grid = (*self.specification.grid, 1, 1)
        axes = re.findall(r"grid\.(\d)", use.get("shared_by", ""))
        programs = math.prod(grid[int(axis)] for axis in axes) if axes else math.prod(grid)
        return min(TAPE_STEPS, programs)

    def scratch(self, use: dict, launch: dict) -> np.ndarray:
        """Memory as large as the launcher allocates it, with nothing in it that could be taken for a state."""
        steps = {k: TAPE_STEPS for k, v in launch["arguments"].items() if "steps" in v}
        names = {**self.specification.values, **steps}
        text = use["elements"].replace("triton.cdiv", "cdiv")
        size = eval(text, {"cdiv": lambda a, b: -(-a // b), "min": min, "max": max}, names)  # noqa: S307
        count = max(size * math.prod(self.specification.grid), 1)
        if use.get("dtype") == "int64":
            return np.full(count, -(1 << 40), np.int64)
        return np.full(count, np.nan, np.float64 if self.doubles else np.float32)

    def fresh_gradients(self) -> dict[str, np.ndarray]:
        """Zeros for every input that is there; what is updated in place starts from its upstream gradient."""
        kind = np.float64 if self.doubles else np.float32
        result = {
            name: np.zeros(len(self.data[name]), kind)
            for name in self.proof["inputs"]
            if name in self.data
        }
        for name in self.scalars:  # a sum for each program
            result[name] = np.zeros(math.prod(self.specification.grid), kind)
        for launch in self.proof["backward"]["launches"]:
            for use in launch["arguments"].values():
                if (of := use.get("running") or use.get("kept")) in self.upstream:
                    result[of] = self.upstream[of].copy()
        return result

    def backward(self) -> dict[str, np.ndarray]:
        """The gradients as Triton computes them from the emitted text."""
        after, gradients = self.forward(), self.fresh_gradients()
        for launch in self.proof["backward"]["launches"]:
            arguments = self.arguments(launch, after, gradients)
            left = self.run(self.proof["backward"]["source"], launch["kernel"], arguments)
            for name, use in launch["arguments"].items():
                of = next((use[k] for k in WRITTEN if k in use), None)
                if of and name in left:
                    gradients[of] = added_up(use, left[name], gradients.get(of))
        return self.of_inputs(gradients)

    def own_backward(self, ask: object) -> dict[str, np.ndarray]:
        """The same by tad-runner's `run`, on the same data."""
        after, gradients = self.forward(), self.fresh_gradients()
        for launch in self.proof["backward"]["launches"]:
            arguments = self.arguments(launch, after, gradients)
            answer = ask(  # type: ignore[operator]
                "run",
                {
                    "path": self.proof["path"],
                    "source": self.proof["backward"]["source"],
                    "modules": self.proof["modules"],
                    "kernel": launch["kernel"],
                    "arguments": {k: self.portable(v) for k, v in arguments.items()},
                    "grid": list(self.specification.grid),
                },
            )
            assert answer["findings"] == []
            for name, use in launch["arguments"].items():
                of = next((use[k] for k in WRITTEN if k in use), None)
                if of and name in answer["buffers"]:
                    values = [np.nan if v is None else v for v in answer["buffers"][name]]
                    kept = np.array(values, arguments[name].dtype)
                    gradients[of] = added_up(use, kept, gradients.get(of))
        return self.of_inputs(gradients)

    def of_inputs(self, gradients: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Without those of buffers that are only written: nobody asks for them. Programs' sums are added up."""
        for name in self.scalars:
            gradients[name] = gradients[name].sum(keepdims=True)
        return {name: gradient for name, gradient in gradients.items() if name in self.directions}

    def portable(self, value: object) -> object:
        """An argument as `run` takes it."""
        if isinstance(value, np.ndarray):
            integer = value.dtype.kind in "iu"
            data = [None if v != v else v for v in value.tolist()]
            return {"data": data, "dtype": f"i{8 * value.itemsize}" if integer else "fp64"}
        if isinstance(value, str) and value.startswith(FUNCTION):
            return {"function": value.removeprefix(FUNCTION)}
        if isinstance(value, tuple):
            return {"items": [{"value": item} for item in value]}
        if isinstance(value, bool) or value is None or isinstance(value, str):
            return {"value": value}
        return {"int" if isinstance(value, int) else "float": value}

    def difference(self) -> tuple[float, float]:
        """The loss' derivative along the direction by central differences, and the size of its terms."""
        above, below = self.forward(STEP), self.forward(-STEP)
        total = size = 0.0
        for name, weights in self.upstream.items():
            terms = (above[name] - below[name]) / (2 * STEP) * weights
            terms = terms[np.isfinite(terms)]
            total += float(terms.sum())
            size += float(np.abs(terms).sum())
        return total, size
