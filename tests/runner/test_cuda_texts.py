"""NVIDIA's own compiler takes every text that a proof makes of a kernel: with tangents, in own types."""

from __future__ import annotations

import ctypes
import importlib.util
from pathlib import Path

import pytest

from tests.emitted.plan import EXAMPLES, derived
from tests.runner.test_cuda import CudaRunner, both, stand_in

__all__ = ["stand_in"]

OPTIONS = [b"--gpu-architecture=sm_90", b"--fmad=false", b"--std=c++17", b"--minimal"]


@pytest.fixture(scope="module")
def nvrtc() -> ctypes.CDLL:
    """The library of the PyPI package."""
    spec = importlib.util.find_spec("nvidia.cuda_nvrtc")
    assert spec and spec.submodule_search_locations, "tests/requirements.txt names the package"
    folder = Path(next(iter(spec.submodule_search_locations))) / "lib"
    return ctypes.CDLL(str(folder / "libnvrtc.so.12"))


def complaint(nvrtc: ctypes.CDLL, text: str) -> str:
    """What the compiler says of a text that it does not take; nothing of one that it does."""
    program, size = ctypes.c_void_p(), ctypes.c_size_t()
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"kernel.cu", 0, None, None)
    options = (ctypes.c_char_p * (len(OPTIONS) + 1))(*OPTIONS, b"-Ofc=max")
    if nvrtc.nvrtcCompileProgram(program, len(options), options) == 0:
        nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
        return ""
    nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetProgramLog(program, log)
    return log.value.decode()


@pytest.mark.sampled(0.12)
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_what_a_proof_makes_of_kernels(
    path: Path, nvrtc: ctypes.CDLL, stand_in: str, tmp_path: Path
) -> None:
    more = {"STAND_IN_KEEP": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    runner = CudaRunner(both(stand_in, **more))
    for proof in derived(path)[1].values():
        assert (
            runner.ask("gradcheck", {**proof, "max_seconds": 100})["result"]["status"] == "proved"
        )
    runner.end()
    texts = {file.read_text() for file in tmp_path.glob("*.cu")}
    kinds = {tuple(word in text for word in ("TAD_DUAL 1", "TAD_ROUNDS 1")) for text in texts}
    assert len(kinds) == 4 or path.stem == "conv1d", "with and without tangents, and own types"
    for text in texts:
        assert not (said := complaint(nvrtc, text)), said
