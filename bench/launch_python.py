#!/usr/bin/env python3
# ruff: noqa: E501
"""What the checks of emitted Functions cost a launch's Python, on a processor: kernels are called and do nothing.

    for f in examples/*.py; do tad-lsp --backward --no-proof "$f" -o DIR/example_"$(basename "$f" .py)_backward.py"; done
    for f in bench/gpu/style/*.py; do tad-lsp --backward --no-proof "$f" -o DIR/"$(basename "$f" .py)_backward.py"; done
    .torch/bin/python bench/launch_python.py DIR [--only TEXT] [--repeats N]

Each row: the time of a forward and its backward with all checks, without them, and the quotient. Without them means that each
statement `_check_...(...)`, and each `if` that only raises, is taken out of the module, in its helpers, too. The launch itself costs
nothing here, and tens of microseconds with Triton's own launcher, so that the quotients are the largest that there can be.
"""

from __future__ import annotations

import argparse
import ast
import gc
import importlib
import math
import statistics
import sys
import time
import types
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "bench" / "gpu")]

from tests.oracle import shim  # noqa: E402

shim.apply()
import torch  # noqa: E402
from triton.runtime import autotuner, jit  # noqa: E402

from tests.oracle.case import call_of  # noqa: E402
from tests.oracle.examples import CALLS  # noqa: E402
from tests.oracle.measure import content, flat  # noqa: E402

ROWS = {
    "peers": "CASES",
    "drawn_cases": "DRAWN_ROWS",
    "fresh_cases": "FRESH",
    "moves_cases": "MOVES",
    "public_cases": "PUBLIC",
    "resized_cases": "RESIZED",
}


class Unchecked(ast.NodeTransformer):
    """A module without the statements that only check."""

    def visit_Expr(self, node: ast.Expr) -> ast.Expr | None:
        call = node.value
        name = (
            call.func.id if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) else ""
        )
        return None if name.startswith("_check_") else node

    def visit_If(self, node: ast.If) -> ast.If | None:
        self.generic_visit(node)
        only_raises = all(isinstance(s, ast.Raise) for s in node.body)
        return None if only_raises and not node.orelse else node


def no_launch() -> None:
    """Launches of kernels end before Triton looks at their arguments."""
    jit.JITFunction.run = lambda self, *a, **k: None
    autotuner.Autotuner.run = lambda self, *a, **k: None
    autotuner.Heuristics.run = lambda self, *a, **k: None


def modules(path: Path) -> list[types.ModuleType]:
    """The written module as it is, and without its checks."""
    tree = Unchecked().visit(ast.parse(path.read_text()))
    for node in ast.walk(tree):
        if isinstance(getattr(node, "body", None), list) and not node.body:
            node.body = [ast.Pass()]
    bare = path.with_name(f"{path.stem}_unchecked.py")
    bare.write_text(ast.unparse(ast.fix_missing_locations(tree)) + "\n")
    return [importlib.import_module(p.stem) for p in (path, bare)]


def example_calls(folder: Path, only: str):
    """(name, modules, a function of a module that gives outputs and what asks for gradients)."""
    for name, calls in CALLS.items():
        path = folder / f"example_{name}_backward.py"
        if only not in path.stem or not path.exists():
            continue
        both = modules(path)
        for text, inputs in calls:
            call = call_of({"call": text, "inputs": inputs})
            code = compile(text, "<call>", "eval")

            def run(module, call=call, code=code):
                values, asked = {}, []
                for key, given in call.inputs.items():
                    values[key] = content(key, given, 1).to(getattr(torch, given.dtype))
                    if given.grad:
                        asked.append(values[key].requires_grad_())
                changed = [key for key, given in call.inputs.items() if given.in_place]

                def outputs():
                    own = {**values, **{key: values[key] * 1 for key in changed}}
                    return flat(eval(code, {"m": module, "torch": torch, **own}))

                return outputs, asked

            yield f"examples/{name}: {text}", both, run


def style_calls(folder: Path, only: str):
    """The same of the rows that are timed on a card, at their small sizes."""
    found = {}
    for file, rows in ROWS.items():
        cases = importlib.import_module(file)
        cases.DEVICE = "cpu"
        for case in getattr(cases, rows):
            path = folder / f"{case[0]}_backward.py"
            if only not in f"{case[0]}_backward" or not path.exists():
                continue
            both = found.setdefault(case[0], None) or modules(path)
            found[case[0]] = both

            def run(module, case=case):
                tensors = case[2](*case[6])
                asked = [
                    t.requires_grad_()
                    for t, ask in zip(tensors, case[4], strict=True)
                    if ask == "1"
                ]
                launcher = getattr(module, case[1])
                return lambda: flat(launcher(*tensors, *(case[3] or []))), asked

            yield f"{case[0]}: {case[1]}", both, run


def once(outputs, asked: list) -> None:
    made = [o for o in outputs() if o.requires_grad]
    torch.autograd.grad(made, asked, [torch.ones_like(o) for o in made], allow_unused=True)


def timed(both: list, run, repeats: int) -> list[float]:
    """The least CPU time of a forward with its backward in each module, in us, taken in turns."""
    ready = [run(module) for module in both]
    least = [math.inf, math.inf]
    for pair in ready:
        once(*pair)
    for _ in range(repeats):
        for side, pair in enumerate(ready):
            gc.disable()
            start = time.process_time_ns()
            for _ in range(4):
                once(*pair)
            least[side] = min(least[side], (time.process_time_ns() - start) / 4000)
            gc.enable()
    return least


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--repeats", type=int, default=60)
    arguments = parser.parse_args()
    folder = arguments.folder.resolve()
    sys.path.insert(0, str(folder))
    torch.set_num_threads(1)
    no_launch()
    quotients = []
    for calls in (example_calls(folder, arguments.only), style_calls(folder, arguments.only)):
        for name, both, run in calls:
            try:
                checked, bare = timed(both, run, arguments.repeats)
            except Exception as error:  # a row that needs a card, or a kernel's results
                print(f"| {name} | {type(error).__name__}: {str(error)[:90]} |", flush=True)
                continue
            quotients.append(checked / bare)
            print(f"| {name} | {checked:.1f} | {bare:.1f} | {checked / bare:.3f} |", flush=True)
    quotients.sort()
    above = sum(q > 1.2 for q in quotients)
    print(
        f"{len(quotients)} calls: median {statistics.median(quotients):.3f}, most {quotients[-1]:.3f}, {above} above 1.2"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
