"""On a CUDA machine: the backward of every kernel of tests/emitted/kernels and examples/, launched for real.

    TAD_BIN=build python bench/gpu/kernels.py [NAME...]

Each gradient is compared with what tad-runner computes from the same text and data: in doubles, and where
Triton has none for an operation, in singles.  Prints a line a kernel that differs or does not run, and the
counts.  Exit status 1 where one differs.
"""

from __future__ import annotations

import importlib.util
import math
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
import triton

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.emitted.configuration import KEYS, proof_of, proved, specification_of  # noqa: E402
from tests.emitted.launch import Problem  # noqa: E402
from tests.emitted.plan import Runner, derived  # noqa: E402
from tests.emitted.specification import FUNCTION, Specification, parse  # noqa: E402

TOLERANCE = {True: 1e-9, False: 2e-3}


def on_device(value: object, module: object) -> object:
    """Arrays as tensors of the GPU, names of functions as the module's functions; the rest as it is."""
    if isinstance(value, str) and value.startswith(FUNCTION):
        return getattr(module, value.removeprefix(FUNCTION))
    return torch.from_numpy(value.copy()).cuda() if isinstance(value, np.ndarray) else value


class DeviceProblem(Problem):
    """A problem whose launches are real ones."""

    def run(self, source: str, kernel: str, arguments: dict[str, object]) -> dict[str, np.ndarray]:
        with tempfile.NamedTemporaryFile("w", suffix=".py", dir=self.worker, delete=False) as file:
            file.write(self.text(source))
        spec = importlib.util.spec_from_file_location(Path(file.name).stem, file.name)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        launched = getattr(module, kernel)
        while not isinstance(
            launched, triton.JITFunction
        ):  # the configuration is given: no autotune
            launched = launched.fn
        names = launched.arg_names
        tensors = {name: on_device(arguments[name], module) for name in names if name in arguments}
        launched[tuple(self.specification.grid)](**tensors)
        torch.cuda.synchronize()
        return {k: v.cpu().numpy() for k, v in tensors.items() if isinstance(v, torch.Tensor)}


def error_of(key: str, sizes: Specification, runner: Runner, folder: str, doubles: bool) -> float:
    """The largest difference of a gradient, relative to that gradient's largest element."""
    problem = DeviceProblem(proof_of(key), sizes, 1, folder, doubles)
    gradients, own = problem.backward(), problem.own_backward(runner.ask)
    worst = 0.0
    for name, gradient in gradients.items():
        scale = float(np.abs(own[name]).max()) or 1.0
        worst = max(worst, float(np.abs(gradient - own[name]).max()) / scale)
        if not np.isfinite(gradient).all():
            worst = float("inf")
    return worst


def sizes_of(key: str, runner: Runner) -> Iterator[Specification]:
    """What to try a kernel with: the smallest first, as compilers want more of a product than the interpreter."""
    yield specification_of(runner, key)
    found = proved(runner, key)["configurations"]
    near = [parse(entry["text"]) for entry in found if entry["source"] == "launcher"]
    yield from sorted(near, key=lambda sizes: math.prod(sizes.grid))[1:]


def told(error: BaseException) -> str:
    """The last line with a word of the first cause."""
    while error.__cause__:
        error = error.__cause__
    lines = [line.strip() for line in str(error).splitlines() if re.search(r"[a-z]{3}", line)]
    return f"{type(error).__name__}: {lines[-1] if lines else ''}"[:200]


def verdict_of(key: str, runner: Runner, folder: str) -> str:
    """`agrees`, or what is wrong with the last sizes that were tried. What differs is not tried with others."""
    said = ""
    for sizes in sizes_of(key, runner):
        said = verdict_at(key, sizes, runner, folder)
        if said.startswith(("agrees", "differs")):
            break
    return said


def verdict_at(key: str, sizes: Specification, runner: Runner, folder: str) -> str:
    """`agrees`, or what is wrong."""
    why = ""
    for doubles in (True, False):
        try:
            error = error_of(key, sizes, runner, folder, doubles)
        except Exception as error_raised:  # noqa: BLE001 what Triton raises is not one type
            why = told(error_raised)
            continue
        if error <= TOLERANCE[doubles]:
            return "agrees" if doubles else "agrees in singles"
        why = f"differs: relative error {error:.1e}"
        if doubles:  # random numbers are singles in Triton
            continue
    return why


def main() -> int:
    """Runs all of them, or those whose names contain an argument."""
    triton.set_allocator(lambda size, _, __: torch.empty(size, dtype=torch.int8, device="cuda"))
    runner, counts, differs = Runner(), {}, 0
    with tempfile.TemporaryDirectory() as folder:
        for key, (path, name) in KEYS.items():
            if sys.argv[1:] and not any(part in key for part in sys.argv[1:]):
                continue
            if name not in derived(path)[1]:
                continue
            verdict = verdict_of(key, runner, folder)
            kind = verdict if verdict.startswith("agrees") else verdict.split(":")[0]
            counts[kind] = counts.get(kind, 0) + 1
            if not verdict.startswith("agrees"):
                print(f"{key}: {verdict}", flush=True)
            differs += verdict.startswith("differs")
    for kind, count in sorted(counts.items()):
        print(f"{count:4} {kind}")
    return 1 if differs else 0


if __name__ == "__main__":
    sys.exit(main())
