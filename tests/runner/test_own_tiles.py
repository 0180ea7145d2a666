"""What a launcher chooses when it runs, the worker that times its launches chooses as well.

Each rule is there twice: in Python, in the text that is written (autodiff/module/helpers.def), and in C
(analysis/choices)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.emitted.plan import EXAMPLES, KERNELS, derived, tad
from tests.runner.test_protocol import Runner, gradcheck_params

BY_STEM = {path.stem: path for path in (*EXAMPLES, *KERNELS)}


class Tensor:
    """What a rule asks of one."""

    def __init__(self, elements: int = 1, width: int = 4) -> None:
        self.numel, self.element_size = (lambda: elements), (lambda: width)


class Size(tuple):
    """torch.Size."""

    def numel(self) -> int:
        """The product of all."""
        return math.prod(self)


def rule(name: str, path: Path, **more: object) -> Callable:
    """A function of the module that is written for a file."""
    run = tad("--backward", "--no-proof", path)
    assert run.returncode == 0, run.stderr
    start = run.stdout.index(f"def {name}(")
    torch = SimpleNamespace(Tensor=Tensor, Size=Size, version=SimpleNamespace(hip=None))
    names: dict = {"torch": torch, **more}
    exec(run.stdout[start : run.stdout.index("\n\n\n", start)], names)
    return names[name]


@pytest.fixture(scope="module")
def worker() -> Iterator[Runner]:
    runner = Runner()
    yield runner
    runner.process.kill()
    runner.process.communicate()


# --- programs that share sums -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def slices_rule() -> Callable:
    return rule("_slices", BY_STEM["layer_norm"])


def planned(worker: Runner, line: str, source: dict) -> tuple[int, dict]:
    """The number of slices in the plan of a launch, and the buffer for their sums."""
    params = gradcheck_params()
    launch = {"X": {"same": "X"}, "dX": {"gradient": "X", "parts": True}, "slices": source}
    params["backward"]["launches"] = [{"kernel": "square_backward", "arguments": launch}]
    plan = worker.ask("plan", params | {"spec": {"text": line}})["result"]
    by_name = {argument["name"]: argument for argument in plan["launches"][0]["arguments"]}
    return by_name["slices"]["value"], by_name["dX"]


@pytest.mark.parametrize("said", [{}, {"each": 1}, {"most": 1024}, {"most": 65536, "each": 1}])
@pytest.mark.parametrize("shared_by", [None, "grid.0", "grid.0 * grid.2", ""])
def test_as_many_programs_share_sums(
    said: dict, shared_by: str | None, worker: Runner, slices_rule: Callable
) -> None:
    axes = (0, 1, 2) if shared_by is None else [int(c) for c in shared_by if c.isdigit()]
    source = {"slices": None, **said} | ({} if shared_by is None else {"shared_by": shared_by})
    grids = [(1, 1, 1), (7, 1, 3), (1000, 2, 1), (4096, 1, 8), (16384, 2, 2), (65536, 1, 1)]
    lengths = [1, 1000, 1025, 4096, 8193, 65536, 1 << 20, 1 << 24, (1 << 24) + 1]
    for grid, length in itertools.product(grids, lengths):
        line = f"# tad: n={min(length, 4)}, BLOCK=4, X=f32[{length}], grid={grid}"
        found, sums = planned(worker, line, source)
        wanted = slices_rule(grid, axes, Tensor(length), None, **said)
        assert (found, sums["elements"]) == (wanted, wanted * length), (line, said)


def test_the_shape_says_how_large_a_tensor_is(worker: Runner, slices_rule: Callable) -> None:
    """Not the memory that its rows reach over."""
    line = "# tad: n=4, BLOCK=4, X=f32[4, 512] strides (65536, 1), grid=(8192,)"
    found, _ = planned(worker, line, {"slices": None})
    assert found == slices_rule((8192,), (0,), Tensor(4 * 512)) != 128


def test_a_parameter_with_a_default_gets_what_the_launch_says(worker: Runner) -> None:
    line = "# tad: n=4, BLOCK=4, X=f32[4], grid=(8192,)"
    assert planned(worker, line, {"slices": None, "default": True, "most": 1024})[0] == 1024
    with pytest.raises(KeyError):
        planned(worker, line, {"slices": None, "default": True})


@pytest.mark.parametrize(
    ("file", "kernel", "said"),
    [
        ("layer_norm", "layer_norm_kernel", {}),
        ("own_slices", "one_scale", {"most": 65536, "each": 1}),
    ],
)
def test_what_the_launch_says_is_asked(file: str, kernel: str | None, said: dict) -> None:
    _, proofs = derived(BY_STEM[file])
    launches = [
        launch
        for name, params in proofs.items()
        if kernel in (None, name)
        for launch in params["backward"]["launches"]
    ]
    found = [s for launch in launches for s in launch["arguments"].values() if "slices" in s]
    assert found
    for source in found:
        assert {name: source[name] for name in ("most", "each") if name in source} == said
