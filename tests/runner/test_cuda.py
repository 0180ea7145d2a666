"""The backend `cuda` of the real `tad-runner`, against a stand-in for NVIDIA's libraries (tests/standin/cuda.c)."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.runner.test_protocol import BIN, ROOT, Runner

ROWS = re.compile(r'^CALL\(\w+, "(\w+)"', re.MULTILINE)
FOLDER = ROOT / "gpu-runner/cuda"
# What is asked only where something has gone wrong before.
ASKED_LATER = {"cuGetErrorName", "nvrtcGetProgramLogSize", "nvrtcGetProgramLog"}
# Giving back fails in silence: nothing is known to be wrong with the result.
GIVEN_BACK = {"cuMemFree_v2", "cuModuleUnload", "nvrtcDestroyProgram", "cuDriverGetVersion"}
FUNCTIONS = [
    name
    for file in ("driver.def", "nvrtc.def")
    for name in ROWS.findall((FOLDER / file).read_text(encoding="utf-8"))
]


@pytest.fixture(scope="session")
def stand_in(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The library, compiled."""
    library = tmp_path_factory.mktemp("standin") / "libstandin.so"
    source = ROOT / "tests/standin/cuda.c"
    options = ["-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror", "-D_GNU_SOURCE"]
    subprocess.run(["cc", *options, "-o", library, source, "-ldl", "-pthread"], check=True)
    return str(library)


class CudaRunner(Runner):
    """A worker that was started with the backend."""

    backend = "cuda"

    def __init__(self, environment: dict[str, str]) -> None:
        environment = {"PATH": os.environ["PATH"], "TMPDIR": "/tmp", **environment}
        program = ["env", "-i", *(f"{key}={value}" for key, value in environment.items())]
        command = [*program, str(BIN / "tad-runner"), "--backend", self.backend]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.notices = []


def probe(environment: dict[str, str]) -> dict:
    """What a worker says of the backend, and that it lives on."""
    runner = CudaRunner(environment)
    try:
        backends = runner.ask("probe", {})["result"]["backends"]
        assert runner.ask("probe", {})["result"]["backends"][0]["available"]
    finally:
        runner.end()
    assert [backend["name"] for backend in backends] == ["cpu", "cuda"]
    return backends[1]


def both(stand_in: str, **more: str) -> dict[str, str]:
    return {"TAD_LIBCUDA": stand_in, "TAD_NVRTC": stand_in, **more}


def test_a_kernel_ran_where_all_is_there(stand_in: str) -> None:
    told = probe(both(stand_in))
    assert told["available"]
    assert told["driver"] == {"found": "CUDA 12.8"}
    assert told["nvrtc"] == {"found": "12.9"}
    assert told["gpu"]["found"].startswith("a stand-in, compute capability 9.0")


def test_nothing_is_opened_unasked(stand_in: str) -> None:
    runner = Runner(env=both(stand_in, PATH=os.environ["PATH"]))
    names = [backend["name"] for backend in runner.ask("probe", {})["result"]["backends"]]
    runner.end()
    assert names == ["cpu"]


@pytest.mark.parametrize("function", [name for name in FUNCTIONS if name not in ASKED_LATER])
def test_each_call_may_fail(function: str, stand_in: str) -> None:
    told = probe(both(stand_in, STAND_IN_FAIL=f"{function}:1"))
    assert told["available"] == (function in GIVEN_BACK)
    assert told["available"] or len(told["missing"]) > 10


@pytest.mark.parametrize(
    ("failure", "words"),
    [
        ("cuInit:100", "the driver's start: the driver sees no GPU"),
        ("cuInit:803", "of two releases"),
        ("cuDevicePrimaryCtxRetain:46", "another process has the GPU for itself"),
        ("cuDevicePrimaryCtxRetain:2", "taking the GPU: the GPU has no memory left"),
        ("cuModuleLoadData:222", "the driver is older than NVRTC"),
        ("cuModuleLoadData:218", "older than NVRTC's release"),
        ("cuMemAlloc_v2:2", "no memory left for it (CUDA_ERROR_OUT_OF_MEMORY, 2)"),
        ("cuStreamQuery:700", "the kernel left its memory"),
        ("cuStreamQuery:77", "running the kernel: the driver refuses (code, 77)"),
        ("nvrtcCompileProgram:5", "NVRTC 12.9 does not know this GPU (--gpu-architecture=sm_90)"),
        ("nvrtcCompileProgram:6", "kernel.cu(1): error: the stand-in was told to"),
    ],
)
def test_a_failure_is_said_in_words(failure: str, words: str, stand_in: str) -> None:
    assert words in probe(both(stand_in, STAND_IN_FAIL=failure))["missing"]


def test_no_gpu(stand_in: str) -> None:
    told = probe(both(stand_in, STAND_IN_GPUS="0"))
    assert "CUDA_VISIBLE_DEVICES" in told["gpu"]["missing"]
    assert "found" in told["driver"]


def test_libraries_that_are_not_there(tmp_path: Path, stand_in: str) -> None:
    nowhere = str(tmp_path / "none.so")
    told = probe({"TAD_LIBCUDA": nowhere, "TAD_NVRTC": stand_in})
    assert told["missing"].startswith("TAD_LIBCUDA names no library that opens")
    assert told["nvrtc"] == {"found": "12.9"}
    told = probe({"TAD_LIBCUDA": stand_in, "TAD_NVRTC": nowhere})
    assert told["missing"].startswith("TAD_NVRTC names no library that opens")
    # Another library than NVIDIA's.
    other = tmp_path / "other.so"
    source = tmp_path / "other.c"
    source.write_text("int tad_other;\n")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", other, source], check=True)
    told = probe({"TAD_LIBCUDA": str(other), "TAD_NVRTC": stand_in})
    assert told["missing"] == "the library has no cuInit; it is too old"


def test_the_doctor_says_what_is_there(stand_in: str) -> None:
    def doctor(*more: str) -> str:
        worker = " ".join(["env", *more, str(BIN / "tad-runner")])
        command = [str(BIN / "tad-lsp"), "--doctor", "--runner", worker]
        environment = {**os.environ, **both(stand_in)}
        return subprocess.run(command, env=environment, capture_output=True, text=True).stdout

    told = doctor()
    assert re.search(r"^  found +backend cuda +a kernel was compiled, launched", told, re.M)
    assert re.search(r"^  found +NVIDIA driver +CUDA 12.8$", told, re.M)
    assert "backends: cpu, cuda" in told
    told = doctor("STAND_IN_FAIL=cuModuleLoadData:222")
    assert re.search(
        r"^  missing +backend cuda +loading the kernel: the driver is older", told, re.M
    )
    assert re.search(r"^  found +GPU +a stand-in", told, re.M)
