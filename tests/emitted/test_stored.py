"""Gradients that a launch stores as a whole are not set to 0 before, and no others.

The emitted Function says which elements the launch stores for certain; a helper compares these with the tensor's.
Under tests/oracle new memory holds NaN, so that a claim too many is a wrong gradient there.
"""

from __future__ import annotations

import itertools
import random
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.emitted.plan import EXAMPLES, Runner, derived, helper_texts, tad
from tests.oracle.pool import PYTHON

EXAMPLES_BY_STEM = {path.stem: path for path in EXAMPLES}
HEAD = "import triton\nimport triton.language as tl\n\n"
# name: (parameters, body, what the Function says or None)
KERNELS: dict[str, tuple[str, str, str | None]] = {
    "blocks": (
        "x, y, n, BLOCK: tl.constexpr",
        "o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n"
        "a = tl.load(x + o, mask=o < n)\n"
        "tl.store(y + o, a * a, mask=o < n)",
        "[(1, min(ctx.grid[0] * BLOCK, n))]",
    ),
    "flat_digits": (
        "x, y, w, stride, n, BLOCK: tl.constexpr",
        "i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n"
        "a = tl.load(x + i // w * stride + i % w, mask=i < n)\n"
        "tl.store(y + i, a * a, mask=i < n)",
        "[(1, w), (stride, min(ctx.grid[0] * BLOCK, n) // max(w, 1))]",
    ),
    "flat_halves": (
        "x, y, w, n, BLOCK: tl.constexpr",
        "i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n"
        "at = x + i // w * 2 * w + i % w\n"
        "a = tl.load(at, mask=i < n)\n"
        "b = tl.load(at + w, mask=i < n)\n"
        "tl.store(y + i, a * b, mask=i < n)",
        "[(1, w), (2 * w, min(ctx.grid[0] * BLOCK, n) // max(w, 1)), (w, 2)]",
    ),
    "flat_pairs_in_a_loop": (
        "x, y, w, stride, n, BLOCK: tl.constexpr",
        "i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n"
        "s = tl.zeros([BLOCK], tl.float32)\n"
        "for k in tl.static_range(2):\n"
        "    a = tl.load(x + i // w * stride + i % w * 2 + k, mask=i < n, other=0.0)\n"
        "    s += a * a\n"
        "tl.store(y + i, s, mask=i < n)",
        "[(1, 2), (2, w), (stride, min(ctx.grid[0] * BLOCK, n) // max(w, 1))]",
    ),
    "flat_digits_behind_a_gap": (
        "x, y, w, stride, n, m, BLOCK: tl.constexpr",
        "i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n"
        "a = tl.load(x + i // w * stride + i % w, mask=(i < n) & (i != m))\n"
        "tl.store(y + i, a * a, mask=(i < n) & (i != m))",
        None,
    ),
    "flat_digits_of_some_programs": (
        "x, y, w, stride, n, BLOCK: tl.constexpr",
        "i = 2 * tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n"
        "a = tl.load(x + i // w * stride + i % w, mask=i < n)\n"
        "tl.store(y + i, a * a, mask=i < n)",
        None,
    ),
    "short_rows": (
        "x, y, stride, n, BLOCK: tl.constexpr",
        "o = tl.arange(0, BLOCK)\n"
        "a = tl.load(x + tl.program_id(0) * stride + o, mask=o < n)\n"
        "tl.store(y + tl.program_id(0) * n + o, a * a, mask=o < n)",
        "[(1, min(BLOCK, n)), (stride, ctx.grid[0])]",
    ),
    "long_rows": (
        "x, y, stride, n, BLOCK: tl.constexpr",
        "x += tl.program_id(0) * stride\n"
        "y += tl.program_id(0) * n\n"
        "for start in range(0, n, BLOCK):\n"
        "    o = start + tl.arange(0, BLOCK)\n"
        "    a = tl.load(x + o, mask=o < n)\n"
        "    tl.store(y + o, a * a, mask=o < n)",
        "[(1, n), (stride, ctx.grid[0])]",
    ),
    "numbered_blocks": (
        "x, y, n, BLOCK: tl.constexpr",
        "for i in range(tl.cdiv(n, BLOCK)):\n"
        "    o = tl.program_id(0) * n + i * BLOCK + tl.arange(0, BLOCK)\n"
        "    inside = i * BLOCK + tl.arange(0, BLOCK) < n\n"
        "    a = tl.load(x + o, mask=inside)\n"
        "    tl.store(y + o, a * a, mask=inside)",
        "[(1, n), (n, ctx.grid[0])]",
    ),
    "early_return": (
        "x, y, rows, n, BLOCK: tl.constexpr",
        "row = tl.program_id(0)\n"
        "if row >= rows:\n"
        "    return\n"
        "o = tl.arange(0, BLOCK)\n"
        "a = tl.load(x + row * n + o, mask=o < n)\n"
        "tl.store(y + row * n + o, a * a, mask=o < n)",
        "[(n, min(ctx.grid[0], rows)), (1, min(BLOCK, n))]",
    ),
    "two_axes": (
        "x, y, n, m, B: tl.constexpr",
        "i = tl.program_id(0) * B + tl.arange(0, B)\n"
        "j = tl.program_id(1) * B + tl.arange(0, B)\n"
        "inside = (i[:, None] < n) & (j[None, :] < m)\n"
        "a = tl.load(x + i[:, None] * m + j[None, :], mask=inside)\n"
        "tl.store(y + i[:, None] * m + j[None, :], a * a, mask=inside)",
        "[(m, min(programs[0] * B, n)), (1, min(programs[1] * B, m))]",
    ),
    "unmasked": (
        "x, y, BLOCK: tl.constexpr",
        "o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n"
        "a = tl.load(x + o)\n"
        "tl.store(y + o, a * a)",
        "[(BLOCK, ctx.grid[0]), (1, BLOCK)]",
    ),
    "halves": (
        "x, y, n, BLOCK: tl.constexpr",
        "row = tl.program_id(0)\n"
        "o = tl.arange(0, BLOCK)\n"
        "a = tl.load(x + row * 2 * n + o, mask=o < n)\n"
        "b = tl.load(x + row * 2 * n + n + o, mask=o < n)\n"
        "tl.store(y + row * n + o, a * b, mask=o < n)",
        "[(1, min(BLOCK, n)), (2 * n, ctx.grid[0]), (n, 2)]",
    ),
    "every_second": (
        "x, y, n, BLOCK: tl.constexpr",
        "o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n"
        "a = tl.load(x + 2 * o, mask=o < n)\n"
        "b = tl.load(x + 2 * o + 1, mask=o < n)\n"
        "tl.store(y + o, a * b, mask=o < n)",
        "[(1, min(2 * ctx.grid[0] * BLOCK, 2 * n))]",
    ),
    "only_every_second": (
        "x, y, n, BLOCK: tl.constexpr",
        "o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n"
        "a = tl.load(x + 2 * o, mask=o < n)\n"
        "b = tl.load(y + o, mask=o < n)\n"
        "tl.store(y + o, a * a + b, mask=o < n)",
        "[(2, min(ctx.grid[0] * BLOCK, n))]",
    ),
    "under_a_flag": (
        "x, y, n, FLAG: tl.constexpr, BLOCK: tl.constexpr",
        "o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n"
        "if FLAG:\n"
        "    a = tl.load(x + o, mask=o < n)\n"
        "    tl.store(y + o, a * a, mask=o < n)",
        "[(1, min(ctx.grid[0] * BLOCK, n))] if FLAG else None",
    ),
    "under_flags": (
        "x, y, n, FLAG: tl.constexpr, OTHER: tl.constexpr, BLOCK: tl.constexpr",
        "o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n"
        "if FLAG and not OTHER:\n"
        "    a = tl.load(x + o, mask=o < n)\n"
        "    tl.store(y + o, a * a, mask=o < n)",
        "[(1, min(ctx.grid[0] * BLOCK, n))] if FLAG and not OTHER else None",
    ),
    "heads": (
        "x, y, stride_b, stride_h, heads, n, BLOCK: tl.constexpr",
        "pid = tl.program_id(1)\n"
        "o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n"
        "at = pid // heads * stride_b + pid % heads * stride_h + o\n"
        "a = tl.load(x + at, mask=o < n)\n"
        "tl.store(y + pid * n + o, a * a, mask=o < n)",
        "[(1, min(programs[0] * BLOCK, n)), (stride_b, programs[1] // max(heads, 1)),"
        " (stride_h, heads)]",
    ),
    "three_digits": (
        "x, y, sa, sb, sc, n, B: tl.constexpr, C: tl.constexpr, BLOCK: tl.constexpr",
        "pid = tl.program_id(0)\n"
        "o = tl.arange(0, BLOCK)\n"
        "a, b, c = pid // C // B, pid // C % B, pid % C\n"
        "v = tl.load(x + a * sa + b * sb + c * sc + o, mask=o < n)\n"
        "tl.store(y + pid * n + o, v * v, mask=o < n)",
        "[(1, min(BLOCK, n)), (sa, ctx.grid[0] // max(C, 1) // max(B, 1)), (sb, B), (sc, C)]",
    ),
    "groups_of_blocks": (
        "x, y, n, BLOCKS: tl.constexpr, BLOCK: tl.constexpr",
        "pid = tl.program_id(0)\n"
        "o = pid % BLOCKS * BLOCK + tl.arange(0, BLOCK)\n"
        "v = tl.load(x + pid // BLOCKS * n + o, mask=o < n)\n"
        "tl.store(y + pid // BLOCKS * n + o, v * v, mask=o < n)",
        "[(1, min(BLOCKS * BLOCK, n)), (n, ctx.grid[0] // max(BLOCKS, 1))]",
    ),
    "as_far_as_a_flag_says": (
        "x, y, n, m, ALL: tl.constexpr, BLOCK: tl.constexpr",
        "row = tl.program_id(0)\n"
        "if ALL:\n"
        "    end = n\n"
        "else:\n"
        "    end = tl.minimum(n, m)\n"
        "for start in range(0, end, BLOCK):\n"
        "    o = start + tl.arange(0, BLOCK)\n"
        "    a = tl.load(x + row * n + o, mask=o < n)\n"
        "    tl.store(y + row * n + o, a * a, mask=o < n)",
        "[(1, n if ALL else min(n, m)), (n, ctx.grid[0])]",
    ),
    "a_remainder_of_a_remainder": (
        "x, y, n, BLOCK: tl.constexpr",
        "pid = tl.program_id(0)\n"
        "o = tl.arange(0, BLOCK)\n"
        "v = tl.load(x + pid % 6 % 4 * n + pid // 6 * 6 * n + o, mask=o < n)\n"
        "tl.store(y + pid * n + o, v * v, mask=o < n)",
        None,
    ),
    "data_decides": (
        "x, wanted, y, n, BLOCK: tl.constexpr",
        "o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n"
        "if tl.load(wanted + tl.program_id(0)) > 0:\n"
        "    a = tl.load(x + o, mask=o < n)\n"
        "    tl.store(y + o, a * a, mask=o < n)",
        None,
    ),
    "mask_from_memory": (
        "x, wanted, y, n, BLOCK: tl.constexpr",
        "o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n"
        "inside = (o < n) & (tl.load(wanted + o, mask=o < n, other=0) > 0)\n"
        "a = tl.load(x + o, mask=inside)\n"
        "tl.store(y + o, a * a, mask=inside)",
        None,
    ),
    "triangle": (
        "x, y, n, BLOCK: tl.constexpr",
        "row = tl.program_id(0)\n"
        "o = tl.arange(0, BLOCK)\n"
        "a = tl.load(x + row * n + o, mask=(o <= row) & (o < n), other=0.0)\n"
        "tl.store(y + row * n + o, a * a, mask=o < n)",
        None,
    ),
    "behind_the_first": (
        "x, y, n, BLOCK: tl.constexpr",
        "o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n"
        "a = tl.load(x + 1 + o, mask=o < n - 1, other=0.0)\n"
        "tl.store(y + o, a * a, mask=o < n)",
        None,
    ),
    "from_the_fourth": (
        "x, y, n, BLOCK: tl.constexpr",
        "o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n"
        "a = tl.load(x + o, mask=(o < n) & (o > 3), other=0.0)\n"
        "tl.store(y + o, a * a, mask=o < n)",
        None,
    ),
    "rows_from_memory": (
        "x, rows, y, n, BLOCK: tl.constexpr",
        "o = tl.arange(0, BLOCK)\n"
        "row = tl.load(rows + tl.program_id(0))\n"
        "a = tl.load(x + row * n + o, mask=o < n)\n"
        "tl.store(y + tl.program_id(0) * n + o, a * a, mask=o < n)",
        None,
    ),
}
# Sizes of a launch, where made-up ones have too few programs for each value of a digit, or no room for one more.
LAUNCHES = {
    "flat_halves": "# tad: w=3, n=12, BLOCK=8, grid=(2,), x=f32[40], y=f32[12]\n",
    "three_digits": "# tad: n=13, B=3, C=2, BLOCK=16, sa=78, sb=26, sc=13, grid=(12,),"
    " x=f32[156], y=f32[156]\n",
}
REFUTED = re.compile(r"nothing is stored to element \d+ of the gradient of x")


def kernel_text(name: str) -> str:
    parameters, body, _ = KERNELS[name]
    lines = "".join(f"    {line}\n" for line in body.split("\n"))
    return f"{LAUNCHES.get(name, '')}@triton.jit\ndef {name}({parameters}):\n{lines}"


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("stored") / "kernels.py"
    path.write_text(HEAD + "\n\n".join(kernel_text(name) for name in KERNELS))
    return path


@pytest.fixture(scope="module")
def module(source: Path) -> Path:
    path = source.parent / "kernels_backward.py"
    run = tad("--backward", source, "--no-proof", "-o", path)
    assert run.returncode == 0, run.stderr
    return path


@pytest.fixture(scope="module")
def runner() -> Iterator[Runner]:
    process = Runner()
    yield process
    process.close()


@pytest.mark.parametrize("name", KERNELS)
def test_what_a_launch_stores_is_said(name: str, module: Path) -> None:
    text = re.sub(r"\s+", " ", module.read_text().replace(",\n            ]", "]"))
    backward = text[text.index(f"def {name}_backward") :]
    call = re.search(r"_gradient_(?:buffer|within)\( ?x(.*?),? ?\) (?:#|\w+ ?[=[])", backward)
    assert call
    said = call[1].replace("[ (", "[(").partition("stored=")[2]
    assert (said or None) == KERNELS[name][2]


@pytest.mark.parametrize("name", [name for name in KERNELS if KERNELS[name][2]])
def test_an_element_that_is_left_out_is_refuted(name: str, source: Path, runner: Runner) -> None:
    """The same claim of one element more, as a mistake in the derivation would make it."""
    params = derived(source)[1][name]
    arguments = params["backward"]["launches"][0]["arguments"]
    (gradient,) = (a for a in arguments.values() if a.get("gradient") == "x")
    assert runner.ask("gradcheck", params)["status"] == "proved"
    honest = gradient["stored"]
    end = honest.rindex(")]")
    gradient["stored"] = honest[:end] + " + 1" + honest[end:]
    wrong = runner.ask("gradcheck", params)
    gradient["stored"] = honest
    assert wrong["status"] == "failed"
    assert REFUTED.search(wrong["reason"])


def test_the_text_of_the_file_counts(module: Path) -> None:
    """What somebody changes there is proved as it stands."""
    text = module.read_text()
    assert text.count("(1, min(BLOCK, n)), (stride, ctx.grid[0])") == 1
    edited = text.replace("(1, min(BLOCK, n)), (stride", "(1, min(BLOCK, n) + 1), (stride")
    module.write_text(edited)
    run = tad("--check", "--grad", module)
    module.write_text(text)
    assert run.returncode == 1
    assert REFUTED.search(run.stdout)
    assert "27 proved, 1 failed" in run.stdout


@pytest.mark.parametrize("elsewhere", ["(slice + 5)", "(slice + 1)"])
def test_sums_that_nobody_adds_up_are_in_no_gradient(elsewhere: str, runner: Runner) -> None:
    """The Function adds up as many sums in parts as it has made room for."""
    params = derived(EXAMPLES_BY_STEM["layer_norm"])[1]["layer_norm_kernel"]
    backward = params["backward"]
    text = backward["source"]
    assert "slice * dw_stride" in text
    backward["source"] = text.replace("slice * dw_stride", f"{elsewhere} * dw_stride")
    answer = runner.ask("gradcheck", params)
    backward["source"] = text
    assert answer["status"] == "failed"


@pytest.mark.parametrize(
    "allocation",
    ["torch.empty_like({tensor})", "_gradient_buffer({tensor}, stored=[(1, unknown)])"],
)
def test_what_is_not_known_to_be_0_is_not_proved(module: Path, allocation: str) -> None:
    """A buffer that somebody allocates by hand, or says something of that no launch knows."""
    text = module.read_text()
    found = re.search(
        r"= (_gradient_buffer\(\s*(\w+),\s*stored=\[\(1, min\(BLOCK, n\)\).*?\)\]\s*\))", text
    )
    assert found
    module.write_text(text.replace(found[1], allocation.format(tensor=found[2])))
    run = tad("--check", "--grad", module)
    module.write_text(text)
    assert "27 proved" in run.stdout and "are 0 at first is not known" in run.stdout, run.stdout


TUNED = """

@triton.autotune(
    configs=[triton.Config({"BLOCK": b}, num_warps=w) for b, w in ((32, 4), (64, 8))], key=["n"]
)
@triton.jit
def tuned(x, y, stride, n, meta, BLOCK: tl.constexpr):
    o = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + tl.program_id(0) * stride + o, mask=o < n)
    tl.store(y + tl.program_id(0) * n + o, a * a * meta, mask=o < n)
"""
CLAIM = 'lambda meta_, grid: [ (1, min(grid[1] * meta_["BLOCK"], n)), (stride, grid[0]) ]'


def test_a_tuner_is_asked_what_all_its_choices_store(tmp_path: Path) -> None:
    source, module = tmp_path / "tuned.py", tmp_path / "tuned_backward.py"
    source.write_text(HEAD + TUNED)
    assert tad("--backward", source, "--no-proof", "-o", module).returncode == 0
    text = module.read_text()
    compile(text, str(module), "exec")
    said = re.sub(r"\s+", " ", text)
    assert f"stored=_stored_by_all( x, tuned_backward, ctx.grid, {CLAIM}" in said
    assert "1 proved" in tad("--check", "--grad", module).stdout
    module.write_text(text.replace('* meta_["BLOCK"], n)', '* meta_["BLOCK"], n) + 1'))
    assert REFUTED.search(tad("--check", "--grad", module).stdout)


class Tuner:
    def __init__(self, *blocks: int) -> None:
        self.configs = [SimpleNamespace(kwargs={"BLOCK": block}) for block in blocks]
        self.fn = None


@pytest.mark.parametrize(
    "blocks, programs, number, said",
    [
        ((32, 64), lambda meta: (-(-(1 << 18) // meta["BLOCK"]),), 1 << 18, [(1, 1 << 18)]),
        ((32, 64), lambda meta: (1 << 13,), 1 << 18, [(1, 1 << 18)]),
        ((32, 64), (1 << 12,), 1 << 18, None),
        ((), (7,), 1 << 18, None),
        ((32, 64), (1 << 13,), (1 << 18) - 1, None),
    ],
    ids=["by block", "for all", "differ", "no choice", "small"],
)
def test_what_choices_store_has_to_be_the_same(
    blocks: tuple[int, ...],
    programs: object,
    number: int,
    said: list[tuple[int, int]] | None,
    tmp_path: Path,
) -> None:
    source = tmp_path / "tuned.py"
    source.write_text(HEAD + TUNED)
    names: dict[str, Callable] = {}
    written = tad("--backward", source, "--no-proof").stdout
    exec(helper_texts(written, "_stored_by_all", "_choices_of"), names)
    end = 1 << 18
    found = names["_stored_by_all"](
        Sizes(number),
        Tuner(*blocks),
        programs,
        lambda meta, grid: [(1, min(grid[0] * meta["BLOCK"], end))],
    )
    assert found == said


Ranges = list[tuple[int, int]]


class Sizes:
    """A dense tensor of so many elements."""

    def __init__(self, number: int) -> None:
        self.number = number

    def numel(self) -> int:
        return self.number


def elements(ranges: Ranges) -> list[int]:
    return sorted(
        sum(step * i for (step, _), i in zip(ranges, at, strict=True))
        for at in itertools.product(*(range(length) for _, length in ranges))
    )


def test_ranges_are_equal_only_where_elements_are(module: Path) -> None:
    """Those of a tensor (steps and sizes, none of whose elements are one) and those of a launch."""
    text = module.read_text()
    start = text.index("def _nested")
    names: dict[str, Callable[[Ranges], Ranges]] = {}
    exec(text[start : text.index("\n\n\n", start)], names)  # type: ignore[arg-type]
    draw = random.Random(5)
    equal = missed = 0
    for _ in range(4000):
        a, b = (
            [
                (draw.choice([0, 1, 1, 2, 3, 4, 6, 12]), draw.choice([-1, 0, 1, 2, 2, 3, 4]))
                for _ in range(draw.randint(0, 3))
            ]
            for _ in range(2)
        )
        if draw.random() < 0.3:
            b = draw.sample(a, len(a))
            b += [(draw.choice([0, 1, 5]), 1)]
        if not elements(a):
            continue
        is_equal = names["_nested"](a) == names["_nested"](b)
        assert not is_equal or set(elements(a)) == set(elements(b)), (a, b)
        equal += is_equal
        distinct = len(set(elements(a))) == len(elements(a))
        missed += distinct and not is_equal and elements(a) == elements(b)
    assert equal > 500
    assert missed < equal / 50


def test_what_covers_a_tensor_is_all_of_it(module: Path) -> None:
    text = module.read_text()
    start = text.index("def _covers")
    names: dict[str, Callable[[Ranges, Sizes], bool]] = {}
    exec(text[start : text.index("\n\n\n", start)], names)  # type: ignore[arg-type]
    draw = random.Random(7)
    covered = 0
    for _ in range(4000):
        ranges = [
            (draw.choice([0, 1, 1, 2, 3, 4, 6]), draw.choice([0, 1, 2, 2, 3]))
            for _ in range(draw.randint(0, 3))
        ]
        number = draw.choice([0, 1, 2, 4, 6, 12])
        if names["_covers"](ranges, Sizes(number)):
            covered += 1
            assert set(elements(ranges)) >= set(range(number)), (ranges, number)
    assert covered > 200


ROOM = """
import torch

{helpers}
for rows in (3, 1):
    view = torch.zeros(rows, 8)[:, :5]
    for buffer in (_gradient_buffer(view), _with_stride(torch.zeros(rows, 5), view.stride())):
        assert buffer.stride() == view.stride() and buffer.shape == view.shape
        assert not buffer.any()
        print(buffer.storage().size())
"""


def test_a_gradient_of_a_view_has_room_for_its_last_row(module: Path) -> None:
    """A kernel may load, and its backward store, whole rows: the last one lies in the buffer, too."""
    text = module.read_text()
    end = text.index("\n\n\n", text.index("def _gradient_buffer"))
    helpers = text[text.index("def _room_of") : end]
    run = subprocess.run(
        [PYTHON, "-c", ROOM.format(helpers=helpers)], capture_output=True, text=True, check=False
    )
    assert run.stdout.split() == ["24", "24", "8", "8"], run.stderr


def test_frames_that_overlap_wait_between_iterations() -> None:
    """What another thread stored in the iteration before is read back only behind a barrier."""
    path = Path(__file__).parent / "kernels" / "reaching.py"
    text = tad("--backward", "--no-proof", "--wrapper", "none", path).stdout
    kernel = text[text.index("def frames_on_each_other_backward") :]
    back = kernel[kernel.index("for back in range(F)") :]
    load, store = back.index("tl.load(dout_ptrs"), back.index("tl.store(dout_ptrs")
    assert "tl.debug_barrier()" in back[:load]
    assert "tl.debug_barrier()" in back[load:store]


PLANES = """@triton.jit
def planes(
    x, w, y, N: tl.constexpr, H: tl.constexpr, C: tl.constexpr,
    step_n: tl.constexpr, step_h: tl.constexpr, step_c: tl.constexpr,
    out_n: tl.constexpr, out_c: tl.constexpr, B: tl.constexpr, D: tl.constexpr,
):
    n = tl.program_id(0) * B + tl.arange(0, B)
    c = tl.program_id(1) * D + tl.arange(0, D)
    inside = (n[:, None] < N) & (c[None, :] < C)
    acc = tl.zeros([B, D], tl.float32)
    for h in tl.static_range(0, H):
        at = n[:, None] * step_n + h * step_h + c[None, :] * step_c
        acc += tl.load(x + at, mask=inside, other=0.0) * tl.load(w + h)
    tl.store(y + n[:, None] * out_n + c[None, :] * out_c, acc, mask=inside)
"""


def test_steps_that_are_made_up_may_pass_what_offsets_hold(tmp_path: Path) -> None:
    """Three steps that keep rows apart come to more than 2**31 elements: there the kernel's offsets wrap around."""
    file = tmp_path / "planes.py"
    file.write_text(HEAD + PLANES)
    run = tad("--check", "--grad", file)
    assert "1 proved" in run.stdout, run.stdout
