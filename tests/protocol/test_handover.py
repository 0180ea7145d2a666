"""A worker's GPU that is lost, held by another process, or takes the worker down: one message, and the proofs go on.

A stand-in for the driver (tests/standin/cuda.c) refuses for as long as a file is there."""

from __future__ import annotations

import shlex
import time
from pathlib import Path

import pytest

from tests.protocol.client import Client
from tests.protocol.conftest import KERNEL
from tests.protocol.test_gradients import command
from tests.runner import test_cuda
from tests.runner.test_cuda import CudaRunner
from tests.runner.test_protocol import BIN, gradcheck_params

stand_in = test_cuda.stand_in
HELD = "cuDevicePrimaryCtxRetain:46"
LOST = "cuStreamQuery:700:2"


def messages(client: Client) -> list[str]:
    shown = [note for note in client.notifications if note["method"] == "window/showMessage"]
    return [note["params"]["message"] for note in shown]


def check(client: Client, uri: str) -> dict:
    result = client.request("workspace/executeCommand", command("checkGradients", uri))
    assert result["status"] == "proved"
    return result


def start(client: Client, uri: str, library: str, **wishes: object) -> None:
    variables = {"TAD_LIBCUDA": library, "TAD_NVRTC": library, **wishes}
    variables["XDG_CACHE_HOME"] = Path(library).parent
    words = ["env", *(f"{key}={value}" for key, value in variables.items())]
    runner = shlex.join([*words, f"{BIN}/tad-runner", "--backend", "cuda"])
    client.initialize(initializationOptions={"settings": {"runner": {"command": runner}}})
    client.open(uri, KERNEL)


@pytest.mark.parametrize(
    ("failure", "says"),
    [(HELD, "another process has the GPU for itself"), (LOST, "the kernel left its memory")],
)
def test_a_gpu_that_is_gone_and_comes_back(
    failure: str, says: str, server: Client, kernel: str, stand_in: str, tmp_path: Path
) -> None:
    holds = tmp_path / "holds"
    holds.touch()
    start(server, kernel, stand_in, STAND_IN_FAIL=failure, STAND_IN_WHILE=holds)
    check(server, kernel)
    check(server, kernel)
    (said,) = messages(server)
    assert said.startswith("Gradient checks go on without the GPU, in the interpreter: ")
    assert says in said and said.endswith(". It is tried again with later checks.")
    holds.unlink()
    check(server, kernel)
    assert messages(server)[1:] == ["Gradient checks use the GPU again."]
    assert server.shut_down() == 0


def test_a_gpu_that_takes_its_worker_down(
    server: Client, kernel: str, stand_in: str, tmp_path: Path
) -> None:
    wishes = {"STAND_IN_KILL": "cuLaunchKernel", "STAND_IN_ONCE": tmp_path / "once"}
    start(server, kernel, stand_in, **wishes)
    check(server, kernel)
    (said,) = messages(server)
    assert "in the interpreter: `env` was killed by signal 9" in said
    check(server, kernel)
    assert messages(server)[1:] == ["Gradient checks use the GPU again."]
    assert server.shut_down() == 0


def test_nothing_is_said_of_a_sound_gpu_or_of_none(
    server: Client, kernel: str, stand_in: str
) -> None:
    start(server, kernel, stand_in)
    check(server, kernel)
    assert messages(server) == []
    assert server.shut_down() == 0


def test_a_worker_asks_again_for_a_gpu_that_was_held(stand_in: str, tmp_path: Path) -> None:
    """The same process; what a proof waits for is no GPU."""
    holds = tmp_path / "holds"
    holds.touch()
    variables = {"TAD_LIBCUDA": stand_in, "TAD_NVRTC": stand_in, "XDG_CACHE_HOME": str(tmp_path)}
    wishes = {"STAND_IN_FAIL": HELD, "STAND_IN_WHILE": str(holds)}
    runner = CudaRunner({**variables, **wishes})
    try:
        first = runner.ask("gradcheck", gradcheck_params())["result"]
        assert "another process" in first["cuda"]["gone"] and first["cuda"]["launches"] == 0
        holds.unlink()
        deadline = time.monotonic() + 20
        found = first
        while found["cuda"]["launches"] == 0 and time.monotonic() < deadline:
            time.sleep(0.5)
            found = runner.ask("gradcheck", gradcheck_params())["result"]
        assert found["status"] == first["status"] == "proved"
        assert found["cuda"]["launches"] > 0 and "gone" not in found["cuda"]
    finally:
        runner.end()
