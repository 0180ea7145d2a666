"""On a CUDA machine: the modules of `--wrapper triton_op` of examples/, eagerly and under torch.compile.

    for f in examples/*.py; do tad-lsp --backward "$f" --wrapper triton_op -o DIR/"$(basename "$f" .py)_op.py"; done
    python bench/gpu/triton_op.py DIR

Each row: the largest relative error ||got - want|| / ||want|| of the inputs' gradients against PyTorch in float64,
called as it is and compiled with fullgraph=True; "left out" where the launcher is no function of tensors.
"""

import importlib
import sys
import traceback

import gradients
import torch


def attempt(name, launcher, how, call, *problem_of):
    """One row; True when it is wrong or fails."""
    try:
        _, error = gradients.errors(call, *problem_of)
    except Exception as problem:  # every case is reported
        text = " ".join(str(problem).split())[:300]
        print(
            f"| {name} | {launcher} | {how} | FAILED: {type(problem).__name__}: {text} |",
            flush=True,
        )
        traceback.print_exc(limit=-2)
        return True
    print(f"| {name} | {launcher} | {how} | {error:.1e} |", flush=True)
    return error > 1e-2


def main():
    """All cases of gradients.py."""
    sys.path.insert(0, sys.argv[1])
    bad = 0
    for name, launcher, inputs, options, reference in gradients.CASES:
        if inputs is None:
            continue
        call = getattr(importlib.import_module(f"{name}_op"), launcher, None)
        if call is None:
            print(f"| {name} | {launcher} | left out | |", flush=True)
            continue
        want = gradients.reference_of(launcher, options, reference)
        torch.compiler.reset()
        compiled = torch.compile(call, fullgraph=True)
        for how, function in (("eager", call), ("compiled", compiled)):
            bad += attempt(name, launcher, how, function, inputs, options, want)
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
