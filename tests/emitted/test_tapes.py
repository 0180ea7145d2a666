"""What a backward of a recurrence costs: so many steps an iteration, however many iterations there are."""

from __future__ import annotations

import numpy as np
import pytest

from tests.emitted.plan import KERNELS, Runner, derived

PATH = next(path for path in KERNELS if path.stem == "recurrences")
FEW, MANY = 16, 64
ROOM = 256  # states that a tape of some of them has room for: here all
# Kernels, and their arguments for `n` iterations: shapes of buffers, numbers.
CASES: dict[str, dict[str, object]] = {
    "channels": {"a": ("n", 8), "x": ("n", 8), "out": ("n", 8), "d": 8, "BLOCK": 8},
    "delta_rule": {
        "q": ("n", 8),
        "k": ("n", 8),
        "v": ("n", 4),
        "beta": ("n",),
        "out": ("n", 4),
        "D": 8,
        "E": 4,
    },
    "last_to_first": {"x": ("n", 8), "out": ("n", 8), "C": 8},
    "ragged": {"x": ("n", 4), "ends": "ends", "out": (4,), "C": 4},
    "linked": {"x": ("n", 8), "order": "order", "out": (8,), "C": 8},
}


def sizes(proof: dict, case: dict[str, object], iterations: int, room: int) -> dict[str, object]:
    """The arguments of the backward, with gradients of ones."""
    random = np.random.default_rng(3)
    values: dict[str, object] = {"n": iterations}
    for name, value in case.items():
        if value == "ends":
            values[name] = np.array([0, iterations], np.int64)
        elif value == "order":
            values[name] = (np.arange(iterations, dtype=np.int64) + 1) % iterations
        elif isinstance(value, tuple):
            shape = [iterations if extent == "n" else extent for extent in value]
            values[name] = 0.1 * random.standard_normal(int(np.prod(shape)))
        else:
            values[name] = value
    arguments: dict[str, object] = {}
    for name, use in proof["backward"]["launches"][0]["arguments"].items():
        of = values.get(next(iter(use.values())))
        if "steps" in use:
            arguments[name] = room
        elif "scratch" in use:
            kind = np.int64 if use.get("dtype") == "int64" else np.float64
            arguments[name] = np.zeros(room * 64, kind)
        elif "same" in use:
            arguments[name] = of
        else:
            arguments[name] = np.ones_like(of)
    return arguments


def steps(runner: Runner, kernel: str, iterations: int, room: int) -> float:
    """How many elements tad-runner computes for one backward."""
    proof = derived(PATH)[1][kernel]
    arguments = {}
    for name, value in sizes(proof, CASES[kernel], iterations, room).items():
        is_array = isinstance(value, np.ndarray)
        whole = is_array and value.dtype.kind == "i"
        arguments[name] = (
            {"data": value.tolist(), "dtype": "i64" if whole else "fp64"}
            if is_array
            else {"int": value}
        )
    answer = runner.ask(
        "run",
        {
            "path": str(PATH),
            "source": proof["backward"]["source"],
            "kernel": f"{kernel}_backward",
            "arguments": arguments,
            "grid": [1],
        },
    )
    assert answer["findings"] == []
    return answer["steps"]


@pytest.mark.parametrize("kernel", CASES)
def test_cost_is_linear(kernel: str, runner: Runner) -> None:
    """Four times the iterations, four times the work."""
    few, many = (steps(runner, kernel, iterations, ROOM) for iterations in (FEW, MANY))
    assert many < 1.05 * few * MANY / FEW


def test_less_room_costs_more(runner: Runner) -> None:
    """Between states that are kept, the others are computed again: right, as the proofs say, and slower."""
    all_kept = steps(runner, "delta_rule", MANY, MANY)
    some_kept = steps(runner, "delta_rule", MANY, 8)
    one_kept = steps(runner, "delta_rule", MANY, 1)
    assert all_kept < some_kept < one_kept / 2
