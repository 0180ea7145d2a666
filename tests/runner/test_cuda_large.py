"""Sizes that the interpreter has no time for, checked by the backend `cuda` alone; and backends that choose."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.emitted.plan import ROOT, derived
from tests.runner.test_cuda import CudaRunner, both, stand_in
from tests.runner.test_protocol import Runner

__all__ = ["stand_in"]

# 2^18 elements of all tensors are large; for the backend `auto` 2^19.
SIZES = "in_stride=N, out_stride=N, n_cols=N, BLOCK=2048, grid=(M,)"
SOFTMAX = f"# tad: M=70, N=2000, out_ptr=f32[M, N], in_ptr=f32[M, N], {SIZES}"
LARGER = SOFTMAX.replace("M=70", "M=140")
SHORT = f"# tad: M=70, N=2000, out_ptr=f32[M, N], in_ptr=f32[69, N], {SIZES}"
ROOM_OF_ONE = 16_000_000  # bytes: 70 rows take 8 to 12 million, 90 rows 12 to 16
MEETING = SOFTMAX.replace("out_stride=N", "out_stride=N - 1")


def softmax(text: str = SOFTMAX, before: str = "", after: str = "", **more: object) -> dict:
    """What tad-lsp asks for with that comment above the kernel, and a change of the backward."""
    proof = derived(ROOT / "examples/softmax.py")[1]["softmax_kernel"]
    source = proof["backward"]["source"]
    assert before in source
    backward = {**proof["backward"], "source": source.replace(before, after)}
    spec = {**proof["spec"], "text": text}
    return {**proof, "backward": backward, "spec": spec, "max_seconds": 100, **more}


@pytest.fixture(scope="module")
def cuda(stand_in: str) -> Iterator[Runner]:
    started = CudaRunner(both(stand_in))
    yield started
    started.end()


def test_a_gradient_is_proved_at_a_size(cuda: Runner) -> None:
    got = cuda.ask("gradcheck", softmax())["result"]
    assert got["status"] == "proved", got
    assert [entry["backend"] for entry in got["configurations"]] == ["cuda"]
    assert "[70, 2000]" in got["configurations"][0]["text"]
    assert got["cuda"]["backward_launches"] >= 2
    assert "refused" not in got["cuda"]
    assert 0 < got["worst_error"] < 1e-6
    assert got["steps"] == 0, "the interpreter did nothing"


def test_its_kernels_are_compiled_beside_each_other(stand_in: str, tmp_path: Path) -> None:
    """Those of the tensors, the forward, its dual numbers and the backward: all before anything runs."""
    notes = tmp_path / "together"
    runner = CudaRunner(both(stand_in, STAND_IN_TOGETHER=str(notes)))
    got = runner.ask("gradcheck", softmax())["result"]
    runner.end()
    assert got["status"] == "proved"
    counts = [int(line) for line in notes.read_text().split()]
    assert len(counts) == 4
    assert max(counts) > 1 or os.cpu_count() == 1
    seconds = got["cuda"]["seconds"]
    names = {"opening", "compiling", "allocating", "copying", "running", "interpreting"}
    assert set(seconds) == names
    assert all(value > 0 for name, value in seconds.items() if name != "interpreting")
    assert sum(seconds.values()) < got["seconds"]


def test_memory_is_kept_for_the_next_request_and_not_for_ever(
    stand_in: str, tmp_path: Path
) -> None:
    full = tmp_path / "full"
    runner = CudaRunner(both(stand_in, STAND_IN_FAIL="cuMemAlloc_v2:2", STAND_IN_WHILE=str(full)))
    answers = [runner.ask("gradcheck", softmax())["result"]]
    full.touch()
    answers.append(runner.ask("gradcheck", softmax())["result"])
    time.sleep(3)
    answers.append(runner.ask("gradcheck", softmax())["result"])
    runner.end()
    assert [answer["status"] for answer in answers] == ["proved"] * 3
    assert ["refused" in answer["cuda"] for answer in answers] == [False, False, True]
    assert "the GPU has no memory left" in answers[2]["cuda"]["refused"]
    assert answers[0]["worst_error"] == answers[1]["worst_error"]


def test_memory_that_is_kept_gives_way_to_larger_tensors(stand_in: str) -> None:
    """The GPU has room for either size alone."""
    texts = [SOFTMAX, SOFTMAX.replace("M=70", "M=90")]
    runner = CudaRunner(both(stand_in, STAND_IN_MEMORY=str(ROOM_OF_ONE)))
    answers = [runner.ask("gradcheck", softmax(text))["result"] for text in texts]
    runner.end()
    assert [answer["status"] for answer in answers] == ["proved"] * 2
    assert not any("refused" in answer["cuda"] for answer in answers), answers[1]["cuda"]


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        (
            "tl.sum(dy * y, axis=1)",
            "tl.sum(dy * y * 1.0001, axis=1)",
            "gradient of in_ptr is wrong",
        ),
        ("dx = dnumerator * y", "dx = y", "gradient of in_ptr is wrong"),
        (
            "dx, mask=out_mask",
            "dx, mask=out_mask & (cols < n_cols - 1)",
            "elements that are not finite",
        ),
        (
            "dx, mask=out_mask",
            "dx / (cols - 5), mask=out_mask",
            "elements that are not finite",
        ),
    ],
)
def test_a_wrong_gradient_is_refuted(before: str, after: str, words: str, cuda: Runner) -> None:
    got = cuda.ask("gradcheck", softmax(SOFTMAX, before, after))["result"]
    assert got["status"] != "proved"
    assert words in got["reason"]
    assert "refused" not in got["cuda"]


@pytest.mark.parametrize(
    ("text", "before", "after", "words"),
    [
        (SHORT, "", "", "line 14 of program 69 leaves the elements that were copied"),
        (MEETING, "", "", "uses an element that another program writes"),
        (
            SOFTMAX,
            "din_ptr + row * in_stride",
            "din_ptr + row * in_stride + 1",
            "leaves the elements",
        ),
        (
            SOFTMAX,
            "din_ptr + row * in_stride",
            "din_ptr + row * 0",
            "uses an element that another program writes",
        ),
    ],
)
def test_the_interpreter_judges_what_goes_wrong(
    text: str, before: str, after: str, words: str, cuda: Runner
) -> None:
    got = cuda.ask("gradcheck", softmax(text, before, after))["result"]
    assert got["status"] != "proved"
    assert words in got["cuda"]["refused"]
    assert all("backend" not in entry for entry in got["configurations"])


@pytest.mark.parametrize(
    ("failure", "words"),
    [
        ("cuInit:100", "the driver sees no GPU"),
        ("cuMemAlloc_v2:2:4", "the GPU has no memory left"),
        ("cuStreamQuery:719:5", "the context is lost"),
        ("cuLaunchKernel:701:9", "starting the kernel: the driver refuses"),
        ("cuModuleLoadData:222:2", "the driver is older than NVRTC"),
    ],
)
def test_a_gpu_that_fails(failure: str, words: str, stand_in: str) -> None:
    runner = CudaRunner(both(stand_in, STAND_IN_FAIL=failure))
    got = runner.ask("gradcheck", softmax())["result"]
    runner.end()
    assert got["status"] == "proved", "by the interpreter"
    assert got["steps"] > 0
    assert words in got["cuda"]["refused"]


def test_a_kernel_without_end(stand_in: str) -> None:
    runner = CudaRunner(both(stand_in, STAND_IN_FAIL="cuStreamQuery:600:3"))
    got = runner.ask("gradcheck", softmax(max_seconds=8))["result"]
    assert got["status"] == "proved", "by the interpreter, in the time that is left"
    assert "the kernel takes longer than the request may" in got["cuda"]["refused"]
    again = runner.ask("gradcheck", softmax(max_seconds=60))["result"]
    runner.end()
    assert again["status"] == "proved"
    assert again["cuda"]["launches"] == 0, "the GPU is left alone"
    assert again["seconds"] < 8


MANY = """import triton
import triton.language as tl


# tad: {text}
@triton.jit
def kernel(X, Y, scale, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(X + row * N + cols, mask=cols < N, other=0.0)
{body}
    tl.store(Y + row * N + cols, y, mask=cols < N)
"""
SIZED = "M=70, N=2000, X=f32[M, N], Y=f32[M, N], scale=0.7, BLOCK=2048, grid=(M,)"
BODIES = {
    "functions": """
    z = tl.exp(x) * tl.sin(x * scale) + tl.erf(x) / (1 + tl.exp2(x)) - tl.sqrt(x * x + 1)
    y = tl.where(cols % 3 == 0, tl.sigmoid(z), z * tl.cos(x)) + tl.fma(x, z, x) * tl.rsqrt(z * z + 2)
""",
    "rows": """
    top = tl.max(x, axis=0)
    total = tl.sum(tl.exp(x - top), axis=0)
    y = tl.cumsum(x, axis=0) * scale + x * tl.log(total) + tl.flip(x, 0)
""",
    "kinks": """
    y = tl.maximum(x, 0.0) * scale + tl.abs(x - 0.25)
""",
    "loops": """
    y = x
    for i in range(0, 3):
        y = y * x + scale
        if row % 2 == 0:
            y = y / (1 + x * x)
""",
}


@pytest.mark.parametrize("name", BODIES)
def test_dual_numbers_and_differences_agree(name: str, cuda: Runner, tmp_path: Path) -> None:
    file = tmp_path / "many.py"
    file.write_text(MANY.format(text=SIZED, body=BODIES[name]))
    got = cuda.ask("gradcheck", {**derived(file)[1]["kernel"], "max_seconds": 100})["result"]
    assert got["status"] == "proved", got
    assert got["configurations"][0]["backend"] == "cuda"
    assert "refused" not in got["cuda"]
    assert got["dot_test"] < 1e-10, "dual numbers are exact but for rounding"
    if name != "kinks":
        assert got["cuda"]["launches"] % 4 == 0, "one of dual numbers, four a step of differences"
    assert got["kink"] == (name == "kinks")
    assert [entry["name"] for entry in got["inputs"] if entry["directions"]] == ["X"]


def test_a_wrong_gradient_is_refuted_at_kinks(cuda: Runner, tmp_path: Path) -> None:
    file = tmp_path / "many.py"
    file.write_text(MANY.format(text=SIZED, body=BODIES["kinks"]))
    proof = derived(file)[1]["kernel"]
    source = proof["backward"]["source"]
    assert "0.25" in source
    wrong = {**proof["backward"], "source": source.replace("0.25", "0.2501")}
    got = cuda.ask("gradcheck", {**proof, "backward": wrong, "max_seconds": 100})["result"]
    assert got["status"] != "proved"


class AutoRunner(CudaRunner):
    """A worker that chooses."""

    backend = "auto"


def test_small_proofs_are_the_interpreters(stand_in: str) -> None:
    small = derived(ROOT / "examples/softmax.py")[1]["softmax_kernel"]
    runner = AutoRunner(both(stand_in, STAND_IN_FAIL="cuInit:999"))
    got = runner.ask("gradcheck", small)["result"]
    assert got["status"] == "proved"
    assert not any(got["cuda"].values()), got["cuda"]
    got = runner.ask("gradcheck", softmax())["result"]
    assert not any(got["cuda"].values()), got["cuda"]
    got = runner.ask("gradcheck", softmax(LARGER))["result"]
    runner.end()
    assert got["status"] == "proved"
    assert "the driver's start" in got["cuda"]["refused"]


def test_large_ones_are_the_gpus(stand_in: str) -> None:
    runner = AutoRunner(both(stand_in))
    got = runner.ask("gradcheck", softmax(LARGER))["result"]
    runner.end()
    assert got["status"] == "proved"
    assert got["configurations"][0]["backend"] == "cuda"
