"""What a launcher chooses when it runs, the worker that times its launches chooses as well.

Each rule is there twice: in Python, in the text that is written (autodiff/module/helpers.def), and in C
(analysis/choices)."""

from __future__ import annotations

import itertools
import json
import math
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.emitted.plan import EXAMPLES, KERNELS, ROOT, derived, helper_texts, tad
from tests.emitted.test_together import norm as short_rows
from tests.emitted.test_whole_rows import rows as rows_in_blocks
from tests.emitted.test_wide_blocks import FLAT, HEAD, PLAIN
from tests.runner.test_protocol import BIN, Runner, gradcheck_params
from tests.runner.test_times import cache, launches, variables

__all__ = ["cache", "launches"]

KERNELS_OF_ROWS = Path(__file__).parents[1] / "emitted/kernels/turned.py"
BY_STEM = {path.stem: path for path in (*EXAMPLES, *KERNELS)}


class Tensor:
    """What a rule asks of one."""

    def __init__(self, elements: int = 1, width: int = 4) -> None:
        self.numel, self.element_size = (lambda: elements), (lambda: width)
        self.device = "cuda:0"


class Size(tuple):
    """torch.Size."""

    def numel(self) -> int:
        """The product of all."""
        return math.prod(self)


# What these call.
CALLED = {
    "_wide_block": ("_warps",),
    "_together": ("_warps",),
    "_at_once": ("_warps",),
    "_whole_row": ("_byte_warps",),
    "_byte_warps": ("_warps",),
    "_product_tiles": ("_once", "_fitting_tiles"),
    "_loop_tile": ("_once", "_fitting_tile"),
}


def rule(name: str, path: Path, **more: object) -> Callable:
    """A function of the module that is written for a file."""
    run = tad("--backward", "--no-proof", path)
    assert run.returncode == 0, run.stderr
    texts = helper_texts(run.stdout, name, *CALLED.get(name, ()))
    torch = SimpleNamespace(Tensor=Tensor, Size=Size, version=SimpleNamespace(hip=None))
    names: dict = {"torch": torch, **more}
    exec(texts, names)
    return names[name]


@pytest.fixture(scope="module")
def worker() -> Iterator[Runner]:
    runner = Runner()
    yield runner
    runner.process.kill()
    runner.process.communicate()


# --- zeros that a kernel stores -------------------------------------------------------------------------------------


def test_zeros_are_stored_where_the_launcher_has_the_kernel_store_them(worker: Runner) -> None:
    """What is timed stores all of a gradient where the Function's own launch does."""
    arguments = {
        "X": {"same": "X"},
        "dX": {"gradient": "X"},
        "FILL": {"fill": "X", "filled": "[(1, 4), (4, grid.0)]"},
    }
    said = []
    for programs in (2, 3):
        line = f"# tad: n=4, BLOCK=4, X=f32[8], grid=({programs},)"
        (launch,) = planned(worker, line, [{"arguments": arguments}])
        values = {argument["name"]: argument.get("value") for argument in launch["arguments"]}
        said.append(values.get("FILL"))
    assert said == [True, None]  # three programs would store more than there is


# --- programs that share sums -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def slices_rule() -> Callable:
    return rule("_slices", BY_STEM["layer_norm"])


def planned(worker: Runner, line: str, launches: list[dict], **more: object) -> list[dict]:
    """Launches of the backward in the plan of one of the forward."""
    params = gradcheck_params() | {"spec": {"text": line}, **more}
    params["backward"]["launches"] = [{"kernel": "square_backward", **one} for one in launches]
    return worker.ask("plan", params)["result"]["launches"]


def slices_of(worker: Runner, line: str, sources: list[dict]) -> list[tuple[int, int]]:
    """The number of slices of launches, and the elements for their sums."""
    shared = {"X": {"same": "X"}, "dX": {"gradient": "X", "parts": True}}
    launches = [{"arguments": {**shared, "slices": source}} for source in sources]
    found = []
    for launch in planned(worker, line, launches):
        by_name = {argument["name"]: argument for argument in launch["arguments"]}
        found.append((by_name["slices"]["value"], by_name["dX"]["elements"]))
    return found


SAID = [
    {},
    {"each": 1},
    {"most": 1024},
    {"most": 65536, "each": 1},
    {"most": 65536, "each": 1, "busy": True},
]
SHARED = {None: (0, 1, 2), "grid.0": (0,), "grid.0 * grid.2": (0, 2), "": ()}


def test_as_many_programs_share_sums(worker: Runner, slices_rule: Callable) -> None:
    grids = [(1, 1, 1), (7, 1, 3), (1000, 2, 1), (4096, 1, 8), (16384, 2, 2), (65536, 1, 1)]
    lengths = [1, 1000, 1025, 4096, 8193, 65536, 1 << 20, 1 << 24, (1 << 24) + 1]
    rules = list(itertools.product(SAID, SHARED))
    sources = [
        {"slices": None, **said} | ({} if by is None else {"shared_by": by}) for said, by in rules
    ]
    for grid, length in itertools.product(grids, lengths):
        line = f"# tad: n={min(length, 4)}, BLOCK=4, X=f32[{length}], grid={grid}"
        tensors = Tensor(length), None
        wanted = [slices_rule(grid, SHARED[by], *tensors, **said) for said, by in rules]
        assert slices_of(worker, line, sources) == [(n, n * length) for n in wanted], line


def test_the_shape_says_how_large_a_tensor_is(worker: Runner, slices_rule: Callable) -> None:
    """Not the memory that its rows reach over."""
    line = "# tad: n=4, BLOCK=4, X=f32[4, 512] strides (65536, 1), grid=(8192,)"
    ((found, _),) = slices_of(worker, line, [{"slices": None}])
    assert found == slices_rule((8192,), (0,), Tensor(4 * 512)) != 128


def test_a_parameter_with_a_default_gets_what_the_launch_says(worker: Runner) -> None:
    line = "# tad: n=4, BLOCK=4, X=f32[4], grid=(8192,)"
    source = {"slices": None, "default": True}
    assert slices_of(worker, line, [{**source, "most": 1024}])[0][0] == 1024
    with pytest.raises(KeyError):
        slices_of(worker, line, [source])


@pytest.mark.parametrize(
    ("file", "kernel", "said"),
    [
        ("layer_norm", "layer_norm_kernel", {}),
        ("own_slices", "one_scale", {"most": 65536, "each": 1}),
        ("own_slices", "recurrent", {"most": 65536, "each": 1, "busy": True}),
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
        assert {name: source[name] for name in ("most", "each", "busy") if name in source} == said


# --- tiles of products ------------------------------------------------------------------------------------------------

CARDS = {"h200": (132, 232448), "a10": (72, 101376), "t4": (40, 65536), "small": (4, 49152)}
TYPES = {"f16": 2, "f32": 4, "f64": 8, "i8": 1}
GRIDS = [(64, 64, 1), (16, 8, 3), (1, 1, 1), (4096, 1, 1), (32, 65536, 1)]


def card_of(name: str) -> dict:
    processors, shared_bytes = CARDS[name]
    return {"processors": processors, "shared_bytes": shared_bytes}


def product_launch(sizes: tuple, axes: tuple, lengths: tuple, **own: object) -> dict:
    """One whose rows are tiles of X, and whose columns are tiles of dY."""
    tensors = {"rows": ["X"], "columns": ["Y", "X"], "terms": []}
    tiles = {
        name: {"role": name, "same": size, "axis": axis, "extent": length, "tensors": tensors[name]}
        for name, size, axis, length in zip(tensors, sizes, axes, lengths, strict=True)
    }
    arguments = {name: {"value": 1} for name in tiles}
    return {"arguments": arguments, "tiles": tiles, "own": own}


@pytest.mark.parametrize("card", CARDS)
@pytest.mark.parametrize("types", [("f16", "f16"), ("f32", "f32"), ("f16", "f32"), ("i8", "f16")])
def test_tiles_of_products_are_the_functions(card: str, types: tuple, worker: Runner) -> None:
    choose = rule("_product_tiles", BY_STEM["matmul"], _card_of=lambda _: CARDS[card])
    x, y = (Tensor(width=TYPES[name]) for name in types)
    axes = [(0, 1, None), (None, 1, 0), (0, 0, None), (0, None, 1), (2, 1, 0)]
    lengths = list(itertools.product([17, 64, 300, 4096], [128, 8192], [100, 65536]))
    cases = [
        (axis, length, is_precise)
        for axis, length, is_precise in itertools.product(axes, lengths, [False, True])
    ]
    launches = [
        product_launch((64, 64, 32), axis, length, is_precise=is_precise)
        for axis, length, is_precise in cases
    ]
    seen = set()
    for grid, (warps, text) in itertools.product(GRIDS, [(4, ""), (2, ", num_warps=2")]):
        line = f"# tad: n=4, BLOCK=4, X={types[0]}[4], Y={types[1]}[4], grid={grid}{text}"
        found = planned(worker, line, launches, card=card_of(card))
        for launch, (axis, length, is_precise) in zip(found, cases, strict=True):
            sides = {
                "rows": (64, axis[0], length[0], x),
                "columns": (64, axis[1], length[1], y, x, None),
                "terms": (32, axis[2], length[2]),
            }
            own = choose(grid, **sides, widest=2 if is_precise else 4, num_warps=warps)
            values = [argument["value"] for argument in launch["arguments"]]
            options = launch["options"]["num_warps"], launch["options"]["num_stages"]
            assert (tuple(launch["grid"]), *values, *options) == own, (line, sides)
            assert launch["tiles"] == "rows={}, columns={}, terms={}".format(*values)
            seen.add(own[1:4])
    assert len(seen) > 1 or card != "h200"


# --- tiles of loops --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("card", CARDS)
@pytest.mark.parametrize("type_", TYPES)
def test_tiles_of_loops_are_the_functions(card: str, type_: str, worker: Runner) -> None:
    choose = rule("_loop_tile", BY_STEM["attention"], _card_of=lambda _: CARDS[card])
    cases, launches = [], []
    for size, rows, dim, is_owned, is_fixed, is_precise in itertools.product(
        [16, 32, 64, 128], [16, 64, 96, 128], [32, 64, 128, 256], *[[False, True]] * 3
    ):
        counts = (
            {
                "products": (0, 2 * dim + 2 * rows),
                "kept": (0, 2 * dim),
                "loaded": (2 * rows * dim, 0),
            }
            if is_owned
            else {
                "products": (rows * dim, 2 * rows),
                "kept": (3 * rows * dim, 0),
                "loaded": (0, 2 * dim),
            }
        )
        for divides in ((), (rows,), (rows, 48)):
            cases.append((size, rows, counts, divides, is_owned, is_fixed, is_precise))
            own = {"rows": rows, **counts, "tensors": ["X", "Y"]}
            own |= {"is_owned": is_owned, "is_fixed": is_fixed, "is_precise": is_precise}
            tile = {"role": "loop", "same": size, "axis": None, "divides": divides}
            launch = {"arguments": {"tile": {"value": 1}}, "tiles": {"tile": tile}, "own": own}
            launches.append(launch)
    for options, text in (
        ({}, ""),
        ({"num_warps": 2, "num_stages": 4}, ", num_warps=2, num_stages=4"),
    ):
        line = f"# tad: n=4, BLOCK=4, X={type_}[4], Y=f16[4], grid=(4,){text}"
        tensors = None, Tensor(width=TYPES[type_]), Tensor(width=2)
        found = planned(worker, line, launches, card=card_of(card))
        for launch, (size, rows, counts, divides, is_owned, is_fixed, is_precise) in zip(
            found, cases, strict=True
        ):
            flags = {"divides": divides, "owned": is_owned, "widest": 2 if is_precise else 4}
            flags["fixed"] = is_fixed
            own = choose(size, tensors, rows, **counts, **flags, **options)
            said = launch["options"]["num_warps"], launch["options"]["num_stages"]
            assert (launch["arguments"][0]["value"], *said) == own, (
                line,
                size,
                rows,
                counts,
                flags,
            )
            assert "grid" not in launch


def test_parts_of_a_block_are_the_functions(worker: Runner) -> None:
    """Beside a tile the rows of a part are given; without one the tile is a part."""
    choose = rule("_loop_tile", BY_STEM["attention"], _card_of=lambda _: CARDS["h200"])
    cases = [*itertools.product([16, 64, 128, 256], [32, 64, 128], [64, 128], [False, True])]
    launches = []
    for block, rows, dim, is_beside in cases:
        part = min(block, 64)
        lanes = part if is_beside else rows
        own = {"rows": lanes, "part": part, "tensors": ["X", "Y"], "is_owned": True}
        own |= {"products": (0, 2 * dim + 2 * lanes), "kept": (0, 2 * dim)}
        own |= {"loaded": (2 * dim * lanes, 0)}
        parts = {"role": "parts", "same": block, "axis": None, "extent": 1, "divides": (block,)}
        tile = {"role": "loop", "same": rows, "axis": None, "divides": ()}
        tiles = {"parts": parts, **({"tile": tile} if is_beside else {})}
        arguments = {name: {"value": 1} for name in ("tile", "parts")}
        launches.append({"arguments": arguments, "tiles": tiles, "own": own})
    line = "# tad: n=4, BLOCK=4, X=f16[4], Y=f16[4], grid=(4,)"
    found = planned(worker, line, launches, card=card_of("h200"))
    seen = set()
    for launch, given, (block, rows, _, is_beside) in zip(found, launches, cases, strict=True):
        counts = {name: given["own"][name] for name in ("rows", "products", "kept", "loaded")}
        size = rows if is_beside else block
        divides = () if is_beside else (block,)
        tensors = Tensor(width=2), Tensor(width=2)
        own, *options = choose(size, tensors, **counts, divides=divides, owned=True)
        values = [argument["value"] for argument in launch["arguments"]]
        assert [*launch["options"].values()] == options
        assert values == ([own, block // min(block, 64)] if is_beside else [1, block // own])
        seen.add((is_beside, values[1]))
    assert len(seen) > 3


# --- blocks of rows ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("type_", TYPES)
def test_blocks_of_rows_are_the_functions(type_: str, worker: Runner) -> None:
    choose = rule("_row_block", BY_STEM["layer_norm"])
    lengths = [0, 1, 31, 1000, 1024, 1025, 8192, 32000, 65536, 1 << 20]
    cases = [*itertools.product([16, 1024, 4096, 65536], lengths, [1, 2, 12], [1, 3, 4], [0, 4])]
    launches = []
    for size, length, lanes, count, sums in cases:
        tensors = ["X", "Y", "n", "X"][:count]
        tile = {"role": "row", "same": size, "axis": None, "extent": length, "tensors": tensors}
        own = {"lanes": lanes, "sums": sums}
        launch = {"arguments": {"tile": {"value": 1}}, "tiles": {"tile": tile}, "own": own}
        launches.append(launch)
    for options, text in (
        ({}, ""),
        ({"num_warps": 2, "num_stages": 4}, ", num_warps=2, num_stages=4"),
    ):
        line = f"# tad: n=4, BLOCK=4, X={type_}[4], Y=f16[4], grid=(4,){text}"
        tensors = Tensor(width=TYPES[type_]), Tensor(width=2), 4, Tensor(width=TYPES[type_])
        found = planned(worker, line, launches, card=card_of("h200"))
        seen = set()
        for launch, (size, length, lanes, count, sums) in zip(found, cases, strict=True):
            own = choose(size, length, *tensors[:count], lanes=lanes, sums=sums, **options)
            said = launch["arguments"][0]["value"], launch["options"]["num_warps"]
            assert said == own, (line, size, length, lanes, count, sums)
            assert launch["options"].get("num_stages") == options.get("num_stages")
            assert "grid" not in launch
            seen.add(own)
        assert len(seen) > 8


@pytest.mark.parametrize("type_", TYPES)
def test_whole_rows_are_the_functions(type_: str, worker: Runner, tmp_path: Path) -> None:
    """Where a block holds a row, that kernel is launched in place of the others, in the Function's block and warps."""
    choose = rule("_whole_row", rows_in_blocks(tmp_path / "kernels.py"))
    lengths = [0, 1, 31, 70, 1000, 1025, 4096, 4097, 8192, 8193, 16384, 16385, 65536]
    seen = set()
    for length, count, sums in itertools.product(lengths, [0, 1, 3, 4], [0, 1, 2, 5]):
        tensors = Tensor(width=TYPES[type_]), Tensor(width=2), 4, Tensor(width=TYPES[type_])
        own = choose(length, *tensors[:count], sums=sums)
        launch = {"kernel": "whole", "arguments": {"tile": {"same": "BLOCK"}}}
        whole = {"block": "BLOCK", "length": length, "sums": sums, "launches": [launch]}
        whole |= {"tensors": ["X", "Y", "n", "X"][:count], "chosen": True}
        line = f"# tad: n=4, BLOCK=4, X={type_}[4], Y=f16[4], grid=(4,), num_stages=3"
        params = gradcheck_params() | {"spec": {"text": line}}
        params["backward"] |= {"launches": [launch | {"kernel": "walked"}], "whole_rows": whole}
        (found,) = worker.ask("plan", params)["result"]["launches"]
        assert found["kernel"] == ("whole" if own[0] else "walked"), (length, count, sums)
        if own[0]:
            said = found["arguments"][0]["value"], found["options"]["num_warps"]
            assert said == own and found["options"]["num_stages"] == 3
        seen.add(own)
    assert len(seen) > 5
    whole["chosen"] = False
    params["backward"] |= {"whole_rows": whole | {"length": 64}}
    (found,) = worker.ask("plan", params)["result"]["launches"]
    assert found["kernel"] == "walked", "its Function does not ask"


# --- single bytes beside wider elements -------------------------------------------------------------------------------


BYTES = ROOT / "bench" / "gpu" / "style" / "unseen.py"


@pytest.mark.parametrize("type_", TYPES)
def test_warps_beside_bytes_are_the_functions(type_: str, worker: Runner) -> None:
    warps, stages = rule("_byte_warps", BYTES), rule("_stages", BYTES)
    seen = set()
    for size, said in itertools.product([64, 512, 1024, 4096, 8192, 16384], [None, 2, 8, 16]):
        tensors = Tensor(width=TYPES[type_]), Tensor(width=1)
        own = warps(size, *tensors, num_warps=said), stages(size, *tensors)
        names = ["X", "Y"]
        arguments = {name: {"same": name} for name in names} | {"stages": {"stages": True}}
        launch = {"arguments": arguments, "tile": str(size), "loaded": names}
        launch |= {"has_bytes": True, "counts_warps": True, "staged": names}
        line = f"# tad: n=4, BLOCK=4, X={type_}[4], Y=i1[4], grid=(4,)"
        line += f", num_warps={said}" if said else ""
        (found,) = planned(worker, line, [launch])
        assert (found["options"]["num_warps"], found["arguments"][-1]["value"]) == own, (size, said)
        seen.add(own)
    assert len(seen) > 4


# --- blocks of a program's elements -----------------------------------------------------------------------------------


@pytest.mark.parametrize("type_", TYPES)
def test_blocks_of_elements_are_the_functions(type_: str, worker: Runner, tmp_path: Path) -> None:
    path = tmp_path / "kernels.py"
    path.write_text(HEAD + FLAT.format(**PLAIN))
    choose = rule("_wide_block", path)
    lengths = [0, 1, 1000, 1 << 20, (1 << 20) + 1, 1 << 28]
    cases = [*itertools.product([0, 1], [16, 128, 256, 1024, 16384], lengths, [1, 16], [1, 3, 4])]
    cases = [(*case, least) for case in cases for least in (2048, 8192)]
    launches = []
    for axis, size, length, lanes, count, least in cases:
        tensors = ["X", "Y", "n", "X"][:count]
        tile = {"role": "elements", "same": size, "axis": axis, "extent": length}
        own = {"lanes": lanes} | ({"least": least} if least > 2048 else {})
        tiles = {"tile": tile | {"tensors": tensors}}
        launches.append({"arguments": {"tile": {"value": 1}}, "tiles": tiles, "own": own})
    seen = set()
    for grid in ((9000, 7), (300, 5), (5, 60000)):
        line = f"# tad: n=4, BLOCK=4, X={type_}[4], Y=f16[4], grid={grid}"
        tensors = Tensor(width=TYPES[type_]), Tensor(width=2), 4, Tensor(width=TYPES[type_])
        found = planned(worker, line, launches, card=card_of("h200"))
        for launch, (axis, size, length, lanes, count, least) in zip(found, cases, strict=True):
            given = tensors[:count]
            programs, *own = choose(
                (*grid, 1), axis, size, length, *given, lanes=lanes, least=least
            )
            said = [launch["arguments"][0]["value"], launch["options"]["num_warps"]]
            assert said == own, (grid, axis, size, length, lanes, count, least)
            assert tuple(launch["grid"]) == programs
            seen.add((programs, *own))
    assert len(seen) > 20


# --- programs side by side --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("type_", TYPES)
def test_programs_that_are_one_are_the_functions(type_: str, worker: Runner) -> None:
    choose = rule("_together", KERNELS_OF_ROWS)
    cases = list(itertools.product([0, 1], [1, 16, 96, 128, 512, 1024, 16384], [1, 3, 4]))
    launches = []
    for axis, lanes, count in cases:
        tile = {"role": "programs", "same": 1, "extent": 1, "axis": axis}
        tiles = {"tile": tile | {"tensors": ["X", "Y", "n", "X"][:count]}}
        argument = {"tile": {"together": "tile"}}
        launches.append({"arguments": argument, "tiles": tiles, "own": {"lanes": lanes}})
    seen = set()
    for grid in ((9000, 7), (300, 5), (5, 60000), (60000, 3)):
        line = f"# tad: n=4, BLOCK=4, X={type_}[4], Y=f16[4], grid={grid}"
        tensors = Tensor(width=TYPES[type_]), Tensor(width=2), 4, Tensor(width=TYPES[type_])
        found = planned(worker, line, launches, card=card_of("h200"))
        for launch, (axis, lanes, count) in zip(found, cases, strict=True):
            programs, *own = choose((*grid, 1), axis, lanes, *tensors[:count])
            said = [launch["arguments"][0]["value"], launch["options"]["num_warps"]]
            assert said == own, (grid, axis, lanes, count)
            assert tuple(launch["grid"]) == programs
            seen.add((programs, *own))
    assert len(seen) > 15


@pytest.mark.parametrize("type_", TYPES)
def test_iterations_that_are_one_are_the_functions(
    type_: str, worker: Runner, tmp_path: Path
) -> None:
    """As many rows as the Function takes at once, on a grid with a program for each slice."""
    choose = rule("_at_once", short_rows(tmp_path / "kernels.py"))
    cases = list(itertools.product([1, 16, 96, 128, 512, 1024, 16384], [1, 3, 4]))
    launches = []
    for lanes, count in cases:
        tile = {"role": "iterations", "same": 1, "extent": 1, "axis": 0}
        tiles = {"tile": tile | {"tensors": ["X", "Y", "n", "X"][:count]}}
        arguments = {"tile": {"together": "tile"}}
        arguments["slices"] = {"slices": None, "shared_by": "grid.1"}
        own = {"lanes": lanes}
        launches.append({"arguments": arguments, "tiles": tiles, "own": own, "sliced": [1]})
    seen = set()
    for grid in ((3, 7), (3, 900), (1, 60000)):
        line = f"# tad: n=4, BLOCK=4, X={type_}[4], Y=f16[4], grid={grid}"
        tensors = Tensor(width=TYPES[type_]), Tensor(width=2), 4, Tensor(width=TYPES[type_])
        found = planned(worker, line, launches, card=card_of("h200"))
        for launch, (lanes, count) in zip(found, cases, strict=True):
            values = {a["name"]: a["value"] for a in launch["arguments"]}
            own = choose(values["slices"], grid[1], lanes, *tensors[:count])
            assert (values["tile"], launch["options"]["num_warps"]) == own, (grid, lanes, count)
            assert launch["grid"] == [grid[0], values["slices"], 1]
            seen.add(own)
    assert len(seen) > 5


# --- real kernels ----------------------------------------------------------------------------------------------------

SIZES = {
    "matmul_kernel": {
        **dict.fromkeys(("BLOCK_M", "BLOCK_N"), 64),
        **dict.fromkeys(("stride_ak", "stride_bn", "stride_cn"), 1),
        **dict.fromkeys(("N", "stride_bk", "stride_cm"), 2048),
        **dict.fromkeys(("K", "stride_am"), 1024),
        "M": 4096,
        "BLOCK_K": 32,
    },
    "attention_kernel": {
        **dict.fromkeys(
            ("BLOCK_M", "HEAD_DIM", "stride_qm", "stride_kn", "stride_vn", "stride_om"), 64
        ),
        **dict.fromkeys([f"stride_{of}b" for of in "qkvo"], 131072),
        **dict.fromkeys([f"stride_{of}h" for of in "qkvo"], 32768),
        **dict.fromkeys(("seq_q", "seq_k"), 512),
        "n_heads": 4,
        "CAUSAL": True,
        "BLOCK_N": 32,
        "scale": 0.125,
    },
}
TENSORS = {
    "matmul_kernel": "a_ptr=f16[M, K], b_ptr=f16[K, N], c_ptr=f16[M, N]",
    "attention_kernel": "Q=f16[8, 512, 64], K=f16[8, 512, 64], V=f16[8, 512, 64], Out=f16[8, 512, 64], Lse=f32[8, 512]",
}
FORWARD = {"matmul_kernel": (64, 32), "attention_kernel": (8, 8)}
OPTIONS = {"matmul_kernel": {}, "attention_kernel": {"num_warps": 4, "num_stages": 2}}
FILES = {"matmul_kernel": "matmul", "attention_kernel": "attention"}


def line_of(kernel: str) -> str:
    """The line of a launch in the sizes above."""
    numbers = ", ".join(f"{name}={value}" for name, value in SIZES[kernel].items())
    options = "".join(f", {name}={value}" for name, value in OPTIONS[kernel].items())
    return f"{numbers}, {TENSORS[kernel]}, grid={FORWARD[kernel]}{options}"


def chosen_by_the_text(kernel: str, card: str) -> dict[str, tuple]:
    """What the statements of the Function choose: a tuple for each kernel of the backward."""
    run = tad("--backward", "--no-proof", f"{BY_STEM[FILES[kernel]]}:{kernel}")
    names: dict = {
        name: rule(name, BY_STEM[stem], _card_of=lambda _: CARDS[card])
        for name, stem in (("_product_tiles", "matmul"), ("_loop_tile", "attention"))
    }
    tensors = dict.fromkeys(
        ("a_ptr", "b_ptr", "dc_ptr", "Q", "K", "V", "Out", "dOut"), Tensor(width=2)
    )
    names["ctx"] = SimpleNamespace(grid=FORWARD[kernel], options=OPTIONS[kernel])
    statement = re.compile(
        r"(?:(rows) = (.*?)\n +)?\w[\w, ]+ = (_product_tiles|_loop_tile)(\(.*?\n +\))(?=\n)"
        r".*?\n +(\w+_backward\w*)\[(.*?)\n +\)\n",
        re.S,
    )
    found = {}
    for call in statement.finditer(run.stdout):
        given = {**names, **tensors, **SIZES[kernel]}
        if call[1]:
            given["rows"] = eval(call[2], given)
        *sizes, warps, stages = eval(call[3] + call[4], given)
        sizes += [eval(parts, given) for parts in re.findall(r"PARTS=(.*),", call[6])]
        found[call[5]] = (*sizes, warps, stages)
    return found


@pytest.mark.parametrize("card", CARDS)
@pytest.mark.parametrize("kernel", SIZES)
def test_the_launches_of_a_module_are_those_that_are_planned(
    kernel: str, card: str, worker: Runner
) -> None:
    params = derived(BY_STEM[FILES[kernel]])[1][kernel]
    spec = {"text": f"# tad: {line_of(kernel)}", "pyproject": None, "launchers": False}
    plan = worker.ask("plan", {**params, "spec": spec, "card": card_of(card)})["result"]
    wanted = chosen_by_the_text(kernel, card)
    assert len(wanted) == len(plan["launches"]) == 2
    for launch in plan["launches"]:
        *sizes, warps, stages = wanted[launch["kernel"]]
        assert launch["options"] == {"num_warps": warps, "num_stages": stages}
        if kernel == "matmul_kernel":
            grid = (*sizes.pop(0), 1, 1)[:3]
            assert launch["grid"] == list(grid)
        assert [int(text.split("=")[1]) for text in launch["tiles"].split(", ")] == sizes
        values = {argument["name"]: argument.get("value") for argument in launch["arguments"]}
        assert all(
            f"{name}={values[name]}" in launch["tiles"]
            for name in re.findall(r"\w+(?==)", launch["tiles"])
        )
    # without a GPU it is left to whoever launches, and the sizes are the forward's until then
    plan = worker.ask("plan", {**params, "spec": spec})["result"]
    assert all("own" in launch and "tiles" not in launch for launch in plan["launches"])


@pytest.mark.parametrize("kernel", SIZES)
def test_what_is_timed_is_what_the_module_launches(
    kernel: str, launches: str, cache: Path, tmp_path: Path
) -> None:
    """On a stand-in of 132 multiprocessors."""
    file, log = tmp_path / "kernels.py", tmp_path / "launches.jsonl"
    text = BY_STEM[FILES[kernel]].read_text()
    at = text.index(f"@triton.jit\ndef {kernel}(")
    file.write_text(f"{text[:at]}# tad time: {line_of(kernel)}\n{text[at:]}")
    names = {"STAND_IN_LOG": str(log), "STAND_IN_PROCESSORS": "132"}
    own = [f"{name}={value}" for name, value in variables(launches, cache, **names).items()]
    worker = shlex.join(["env", *own, str(BIN / "tad-runner")])
    command = [BIN / "tad-lsp", "--time", f"{file}:{kernel}", "--python", sys.executable]
    command += ["--runner", worker]
    run = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stderr
    logged = [json.loads(line) for line in log.read_text().splitlines()]
    for name, (*sizes, warps, _) in chosen_by_the_text(kernel, "h200").items():
        (launch,) = {
            json.dumps([one["grid"], one["block"]]) for one in logged if one["kernel"] == name
        }
        grid = sizes.pop(0) if kernel == "matmul_kernel" else FORWARD[kernel]
        assert json.loads(launch) == [list((*grid, 1)[:3]), [32 * warps, 1, 1]]
        said = re.search(
            rf"^  {name} .* {warps} warps, \d+ registers, (\w+=\d+(?:, \w+=\d+)*)", run.stdout, re.M
        )
        assert said and [int(item.split("=")[1]) for item in said[1].split(", ")] == sizes
    assert all(one["grid"] == [*FORWARD[kernel], 1] for one in logged if one["kernel"] == kernel)


FAKE_TORCH = """
from types import SimpleNamespace

version = SimpleNamespace(hip=None)
WIDTHS = {"int8": 1, "float16": 2, "float32": 4, "float64": 8}
int8, float16, float32, float64 = WIDTHS
__version__ = "0"


class Device:
    type = "cuda"


class Tensor:
    device = Device()

    def __init__(self, dtype):
        self.element_size = self.numel = lambda: WIDTHS[dtype]


class Size(tuple):
    def numel(self):
        result = 1
        for number in self:
            result *= number
        return result


def empty(count, device, dtype):
    return Tensor(dtype)


card = SimpleNamespace(multi_processor_count={processors}, shared_memory_per_block_optin={shared_bytes})
cuda = SimpleNamespace(
    is_available=lambda: True, get_device_name=lambda: "made up", synchronize=lambda: None,
    get_device_properties=lambda device: card,
)
manual_seed = print
"""
FAKE_TRITON = """
import json, sys
from types import SimpleNamespace


class JITFunction:
    def __init__(self, fn):
        self.name = fn.__name__

    def __getitem__(self, grid):
        def launch(**arguments):
            numbers = {name: value for name, value in arguments.items() if isinstance(value, int)}
            print("LAUNCH", json.dumps([self.name, grid, numbers]), file=sys.stderr)
        return launch


runtime, __version__ = SimpleNamespace(JITFunction=JITFunction), "0"
"""


@pytest.mark.parametrize("card", CARDS)
@pytest.mark.parametrize("kernel", SIZES)
def test_pytorch_launches_the_same(kernel: str, card: str, worker: Runner, tmp_path: Path) -> None:
    """Where a Python with PyTorch times: it is given the very functions of the module. Neither package is real here."""
    params = derived(BY_STEM[FILES[kernel]])[1][kernel]
    spec = {"text": f"# tad: {line_of(kernel)}", "pyproject": None, "launchers": False}
    plan = worker.ask("plan", {**params, "spec": spec})["result"]
    for launch in [plan, *plan["launches"]]:
        launch["arguments"] = [one for one in launch["arguments"] if one["kind"] != "buffer"]
    wanted = chosen_by_the_text(kernel, card)
    names = "".join(f"\n\n@JITFunction\ndef {name}():\n    pass\n" for name in (kernel, *wanted))
    run = tad("--backward", "--no-proof", BY_STEM["matmul"]).stdout
    other = tad("--backward", "--no-proof", BY_STEM["attention"]).stdout
    products = helper_texts(run, "_card_of", "_product_tiles", *CALLED["_product_tiles"])
    loops = helper_texts(other, "_loop_tile", *CALLED["_loop_tile"])
    helpers = f"{products}\n\n\n{loops}"
    request = {"module": f"from triton import JITFunction\n{names}", "kernel": kernel, "plan": plan}
    (tmp_path / "triton").mkdir()
    fake = FAKE_TORCH
    for name, number in card_of(card).items():
        fake = fake.replace(f"{{{name}}}", str(number))
    (tmp_path / "torch.py").write_text(fake)
    (tmp_path / "triton/__init__.py").write_text(FAKE_TRITON)
    (tmp_path / "triton/language.py").write_text("float32 = 'float32'\n")
    (tmp_path / "triton/testing.py").write_text(
        "def do_bench(run, quantiles):\n    return quantiles\n"
    )
    run = subprocess.run(
        [sys.executable, BIN / "tad-time-kernels.py"],
        input=json.dumps(
            {**request, "launches": params["backward"]["launches"], "helpers": helpers}
        ),
        env={"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert "backward" in json.loads(run.stdout), run.stdout + run.stderr
    found = [json.loads(line[7:]) for line in run.stderr.splitlines() if line.startswith("LAUNCH ")]
    assert [name for name, *_ in found] == [
        kernel,
        *(launch["kernel"] for launch in plan["launches"]),
    ]
    for (name, grid, numbers), launch in zip(found[1:], plan["launches"], strict=True):
        *sizes, warps, stages = wanted[name]
        forward = (*FORWARD[kernel], 1)
        assert [*grid, 1][:3] == list(
            (*sizes.pop(0), 1)[:3] if kernel == "matmul_kernel" else forward
        )
        roles = [
            role for role in ("rows", "columns", "terms", "loop", "parts") if role in launch["own"]
        ]
        assert [numbers[launch["own"][role]["name"]] for role in roles] == sizes
        assert (numbers["num_warps"], numbers["num_stages"]) == (warps, stages)
