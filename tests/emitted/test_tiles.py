"""Kernels of products are launched with tiles of their own, where these have any size, and are proved in them."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.emitted.plan import ROOT, Runner, derived, helper_texts, tad

MATMUL = ROOT / "examples" / "matmul.py"
OWN = "_product_tiles("
GROUPED = """import torch
import triton
import triton.language as tl


@triton.jit
def product(a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    pid = tl.program_id(0)
    {tiles}
    rows = row * BM + tl.arange(0, BM)
    columns = column * BN + tl.arange(0, BN)
    terms = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        a_mask = (rows[:, None] < M) & ((k + terms)[None, :] < K)
        b_mask = ((k + terms)[:, None] < K) & (columns[None, :] < N)
        a = tl.load(a_ptr + rows[:, None] * K + (k + terms)[None, :], mask=a_mask, other=0.0)
        b = tl.load(b_ptr + (k + terms)[:, None] * N + columns[None, :], mask=b_mask, other=0.0)
        acc += tl.dot(a, b)
    {use}mask = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(c_ptr + rows[:, None] * N + columns[None, :], acc, mask=mask)


def launch(a, b):
    M, K = a.shape
    K, N = b.shape
    c = torch.empty((M, N), device=a.device)
    grid = (triton.cdiv(M, 32) * triton.cdiv(N, 32),)
    product[grid](a, b, c, M, N, K, BM=32, BN=32, BK=16)
    return c
"""
BY_ROWS = """row = pid // tl.cdiv(N, BN)
    column = pid % tl.cdiv(N, BN)"""
IN_GROUPS = """last = tl.cdiv(M, BM)
    size = 4 * tl.cdiv(N, BN)
    first = pid // size * 4
    height = min(last - first, 4)
    row = first + (pid % size) % height
    column = (pid % size) // height"""


def function_text(name: str, *options: str) -> str:
    """The class of one kernel of the examples."""
    run = tad("--backward", "--no-proof", *options, f"{MATMUL}:{name}")
    assert run.returncode == 0, run.stderr
    return run.stdout[: run.stdout.index("\ndef _")]


def test_a_launch_says_which_blocks_are_what() -> None:
    text = function_text("matmul_kernel")
    for said in (
        "rows=(BLOCK_K, None, K, a_ptr),",
        "columns=(BLOCK_N, 1, N, dc_ptr),",
        "terms=(BLOCK_M, 0, M),",
        "BLOCK_K=rows,",
        "BLOCK_N=columns,",
        "BLOCK_M=terms,",
        "num_warps=warps,",
        "num_stages=stages,",
    ):
        assert said in text, said
    assert text.count("matmul_kernel_backward[grid](") == 1
    assert text.count("= " + OWN) == 2


@pytest.mark.parametrize("name", ["batched_matmul_kernel", "matmul_descriptor_kernel"])
def test_other_products_have_tiles_of_their_own(name: str) -> None:
    text = function_text(name)
    assert text.count("= " + OWN) == 2
    assert ("widest=2" in text) == (name == "batched_matmul_kernel")


def test_tuned_and_grouped_products_keep_the_forwards() -> None:
    assert OWN not in function_text("linear_kernel")


@pytest.mark.parametrize("tiles", [BY_ROWS, IN_GROUPS], ids=["rows", "groups"])
def test_one_id_numbers_rows_and_columns(tiles: str, tmp_path: Path) -> None:
    path = tmp_path / "product.py"
    path.write_text(GROUPED.format(tiles=tiles, use=""))
    run = tad("--backward", path)
    assert run.returncode == 0 and "gradients proved" in run.stderr, run.stderr
    assert "rows=(BK, None, K, a_ptr)," in run.stdout
    assert "columns=(BN, 0, N, dc_ptr)," in run.stdout
    assert "terms=(BM, 0, M)," in run.stdout


@pytest.mark.parametrize("use", ["acc += pid", "acc += row", "acc += tl.num_programs(0)"])
def test_what_else_an_id_says_keeps_the_forwards(use: str, tmp_path: Path) -> None:
    path = tmp_path / "product.py"
    scaled = use.replace("acc +=", "acc *=") + "\n    "
    path.write_text(GROUPED.format(tiles=IN_GROUPS, use=scaled))
    run = tad("--backward", "--no-proof", path)
    assert run.returncode == 0, run.stderr
    assert OWN not in run.stdout


def choose(room: int = 227 * 1024, multiprocessors: int = 132, asked: list | None = None):
    """`_product_tiles` on a GPU that is made up."""
    run = tad("--backward", "--no-proof", f"{MATMUL}:matmul_kernel")
    text = helper_texts(run.stdout, "_once", "_product_tiles", "_fitting_tiles")
    size = lambda extents: SimpleNamespace(numel=lambda: product(extents))  # noqa: E731

    def card(device: str) -> tuple[int, int]:
        if asked is not None:
            asked.append(device)
        return multiprocessors, room

    names: dict = {
        "torch": SimpleNamespace(Size=size, version=SimpleNamespace(hip=None)),
        "_card_of": card,
    }
    exec(text, names)
    return names["_product_tiles"]


def test_tiles_are_chosen_once_for_equal_sizes() -> None:
    asked = []
    tiles = choose(asked=asked)
    first = tiles((64, 64), **sides(4096, 4096, 4096))
    assert tiles([64, 64], **sides(4096, 4096, 4096)) == first and len(asked) == 1
    assert tiles((64, 64), **sides(4096, 4096, 4096, width=4)) != first
    assert tiles((64, 32), **sides(4096, 2048, 4096)) != first and len(asked) == 3


def product(numbers) -> int:
    """Of all of them."""
    result = 1
    for number in numbers:
        result *= number
    return result


def tensor(width: int) -> SimpleNamespace:
    """What is asked of a tensor."""
    return SimpleNamespace(element_size=lambda: width, device="cuda:0")


def sides(rows: int, columns: int, terms: int, width: int = 2) -> dict:
    """A product whose rows are no axis of the grid, in blocks of 64."""
    return {
        "rows": (64, None, rows, tensor(width)),
        "columns": (64, 1, columns, tensor(width)),
        "terms": (64, 0, terms),
    }


def test_one_axis_numbers_rows_and_columns() -> None:
    known = {
        "rows": (64, None, 4096, tensor(2)),
        "columns": (64, 0, 4096, tensor(2)),
        "terms": (64, 0, 8192),
    }
    assert choose()((64 * 128,), **known) == ((16 * 256, 1, 1), 128, 256, 32, 8, 4)
    assert choose()((64 * 128 - 1,), **known)[0] == (64 * 128 - 1,)


def test_an_axis_has_no_more_programs_than_a_grid_may() -> None:
    known = {
        "rows": (64, 0, 4096, tensor(2)),
        "columns": (64, None, 4096, tensor(2)),
        "terms": (64, 1, 64 * 60000),
    }
    assert choose()((64, 60000), **known)[:4] == ((32, 60000, 1), 128, 128, 64)


def test_a_tensor_that_is_left_out_has_no_tiles() -> None:
    known = sides(4096, 4096, 4096)
    known["rows"] = (64, None, 4096, None)
    assert choose()((64, 64), **known)[1:4] == (64, 64, 64)


def test_tiles_are_the_largest_that_fit() -> None:
    grid = (64, 64)
    large = choose()(grid, **sides(4096, 4096, 4096))
    assert large == ((128, 16, 1), 128, 256, 32, 8, 4)
    assert choose()(grid, **sides(4096, 4096, 4096, width=4))[1:4] == (128, 256, 16)
    assert choose()(grid, **sides(1536, 1536, 4096))[1:] == (128, 128, 64, 4, 3)
    assert choose(room=64 * 1024)(grid, **sides(4096, 4096, 4096))[1:4] == (128, 128, 32)
    assert choose(multiprocessors=2000)(grid, **sides(4096, 4096, 4096))[1:3] == (64, 128)


@pytest.mark.parametrize(
    ("grid", "rows", "columns", "terms", "width"),
    [
        ((64, 64), 4096, 4096, 4096, 8),  # accumulators of doubles do not fit in registers
        ((64, 60), 4096, 4096, 4096, 2),  # the forward leaves columns out
        ((2, 2), 128, 128, 128, 2),  # too few tiles for a GPU
        ((64, 4096), 16, 262144, 4096, 2),  # tiles would be empty for the most part
        (lambda _: (64, 64), 4096, 4096, 4096, 2),  # a tuner decides
    ],
)
def test_the_forwards_sizes_are_kept(grid, rows, columns, terms, width) -> None:
    known = sides(rows, columns, terms, width)
    assert choose()(grid, **known) == (grid, 64, 64, 64, 4, 3)
    assert choose()(grid, **known, num_warps=8, num_stages=4)[4:] == (8, 4)


def with_launches(request: dict, change) -> dict:
    """The request with something else in its launches."""
    other = json.loads(json.dumps(request))
    for launch in other["backward"]["launches"]:
        change(launch)
    return other


def test_the_proof_runs_the_tiles(tmp_path: Path) -> None:
    file = tmp_path / "matmul.py"
    file.write_text(MATMUL.read_text())
    request = derived(file)[1]["matmul_kernel"]
    launches = request["backward"]["launches"]
    tiles = launches[0]["tiles"]
    assert [tiles[name]["axis"] for name in ("BLOCK_M", "BLOCK_N", "BLOCK_K")] == [0, 1, None]
    assert tiles["BLOCK_K"]["sizes"][0] == 128 and tiles["BLOCK_N"]["sizes"][0] == 256

    def too_few(launch: dict) -> None:
        launch["tiles"]["BLOCK_N"].update(sizes=[16] * 6, extent="N - 16")

    def of_16(launch: dict) -> None:
        for tile in launch["tiles"].values():
            tile["sizes"] = [16] * 6

    runner = Runner()
    try:
        assert runner.ask("gradcheck", request)["status"] == "proved"
        assert runner.ask("gradcheck", with_launches(request, of_16))["status"] == "proved"
        wrong = runner.ask("gradcheck", with_launches(request, too_few))
        assert wrong["status"] == "failed"
        assert "in the tiles that it is launched with" in json.dumps(wrong)
        # right in blocks of the forward's size alone
        text = request["backward"]["source"]
        fixed = text.replace("offs_m = forward_program * BLOCK_M", "offs_m = forward_program * 16")
        assert fixed != text
        edited = json.loads(json.dumps(request))
        edited["backward"]["source"] = fixed
        assert runner.ask("gradcheck", edited)["status"] == "failed"
    finally:
        runner.close()
