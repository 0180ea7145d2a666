"""`--ask --phase faster` where there is a GPU: its clock decides; launched against a stand-in for the driver."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.cli.test_ask import asking  # noqa: F401
from tests.cli.test_ask_phases import FASTER, FILE, LINES, answer, phase
from tests.runner.test_protocol import BIN
from tests.runner.test_times import cache, launches, variables  # noqa: F401

LINE = "# tad time: x_ptr=f32[n], y_ptr=f32[n], n=1048576, BLOCK=1024, grid=(1024,)\n"
FORWARD = "@triton.jit\ndef scale_kernel("
# More arithmetic than a compiler takes out.
LONG = FILE.replace(FORWARD, LINE + FORWARD).replace(
    "left + right", "left + right + 0 * tl.erf(tl.sin(x) * tl.cos(x))"
)


class Timed:
    """A session about speed, on a machine whose GPU takes as long as a kernel's code is."""

    def __init__(self, asking, machine: dict[str, str], *script: str, text: str = LONG) -> None:  # noqa: F811
        self.one, self.run = phase(asking, *script, text=text)
        worker = self.one.home / "worker"
        worker.write_text(f'#!/bin/sh\nSTAND_IN_BY_SIZE=1 exec {BIN}/tad-runner "$@"\n')
        worker.chmod(0o755)
        self.command = ["--runner", str(worker), "--python", sys.executable]
        self.variables = {name: value for name, value in machine.items() if name != "HOME"}

    def ask(self, *more: str):
        return self.run(*self.command, *more, **self.variables)


@pytest.fixture
def machine(launches: str, cache: Path) -> dict[str, str]:  # noqa: F811
    return variables(launches, cache)


def test_the_clock_decides(asking, machine: dict[str, str]) -> None:  # noqa: F811
    """An answer that takes longer than the best so far is dropped, whatever it was faster than before."""
    deeper = LINES.replace("twice + twice", "twice + twice + 0 * tl.erf(tl.sin(dy) * tl.cos(dy))")
    timed = Timed(asking, machine, FASTER, answer(deeper))
    result = timed.ask("--write")
    assert result.status == 0, result.stdout + result.stderr
    assert "answer 1 kept, faster: " in result.stdout, result.stdout
    assert "timed on a stand-in" in result.stdout
    assert "answer 2 right, but not faster: " in result.stdout
    assert "(timed on a stand-in)" in result.stdout and "estimated" not in result.stdout
    assert LINES in timed.one.file.read_text()
    asked = [body["messages"][-1]["content"] for _, _, body in timed.one.model.requests]
    assert "Together they take " in asked[0] and " ms (" in asked[0]
    assert "Kept, it is faster: " in asked[1] and " ms (" in asked[1]


def test_a_wrong_kernel_is_never_launched(asking, machine: dict[str, str]) -> None:  # noqa: F811
    log = "launches.jsonl"
    timed = Timed(asking, machine, answer(LINES.replace("twice + twice", "twice")))
    worker = timed.one.home / "worker"
    worker.write_text(
        worker.read_text().replace("exec", f"STAND_IN_LOG={timed.one.home}/{log} exec")
    )
    result = timed.ask("--max-iters", "1")
    assert "answer 1 refused: the gradient of x_ptr is wrong" in result.stdout
    launched = (timed.one.home / log).read_text().splitlines()
    # The forward and the backward as they were: one text, and no other.
    assert {json.loads(line)["kernel"] for line in launched} >= {"scale_kernel_backward"}
    before = len(launched)
    (timed.one.home / log).unlink()
    timed.one.model.requests.clear()
    assert timed.ask("--max-iters", "1").status == 1
    assert len((timed.one.home / log).read_text().splitlines()) == before


@pytest.mark.parametrize("comment", ["", "  # tad: ignore[unknown-operation]"])
def test_what_is_not_understood_is_never_compiled(
    comment: str,
    asking,  # noqa: F811
    machine: dict[str, str],
    tmp_path: Path,
) -> None:
    """Triton's compiler makes a call that it does not know, also in a branch that no launch takes."""
    mark = tmp_path / "run"
    call = f'        tl.core.os.system("touch {mark}"){comment}\n'
    timed = Timed(asking, machine, answer(LINES + "    if n > 1000000000:\n" + call))
    result = timed.ask("--max-iters", "1")
    assert "answer 1 " in result.stdout, result.stderr
    assert "0 of 1 phase with a gain" in result.stdout
    assert not mark.exists()


def test_a_replay_has_the_times_of_then(asking, machine: dict[str, str]) -> None:  # noqa: F811
    timed = Timed(asking, machine, FASTER, "That is all.")
    assert timed.ask("--record", "talk.json").status == 0
    played = timed.one.ask("--answers", "talk.json", "--phase", "faster", key=None)
    assert played.status == 0, played.stdout + played.stderr
    assert "answer 1 kept, faster: " in played.stdout and "(timed on a stand-in)" in played.stdout


def test_without_a_gpu_it_is_estimated_and_said(asking) -> None:  # noqa: F811
    one, run = phase(asking, FASTER, "That is all.", text=LONG)
    result = run("--python", sys.executable, TAD_LIBCUDA="/nowhere.so")
    assert result.status == 0, result.stdout + result.stderr
    assert " ns a program, was " in result.stdout
    assert "(estimated, not timed: " in result.stdout and "TAD_LIBCUDA" in result.stdout
