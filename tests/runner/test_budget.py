"""Budgets are steps: the clock may leave a proof without a verdict, and never gives it another."""

from __future__ import annotations

import os
import re
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.emitted.plan import ROOT, Runner, derived

KERNELS = [("softmax", "online_softmax_kernel"), ("matmul", "matmul_kernel")]
SECONDS = [0.0005, 0.004, 0.03, 0.1, 0.4]  # of a machine many times slower, in effect
KEYS = ("status", "reason", "steps", "covered", "configurations", "discarded", "inputs")


@pytest.fixture
def runner() -> Iterator[Runner]:
    """A worker."""
    started = Runner()
    yield started
    started.close()


def proof_of(file: str, kernel: str) -> dict:
    """The request for the proof of a kernel."""
    return {**derived(ROOT / "examples" / f"{file}.py")[1][kernel], "max_seconds": 100}


def wrong(proof: dict, before: str, after: str) -> dict:
    """The same request about a backward with a mistake."""
    source = proof["backward"]["source"]
    assert before in source
    return {
        **proof,
        "backward": {**proof["backward"], "source": source.replace(before, after)},
    }


def verdict(answer: dict) -> dict:
    """What must be the same on every machine."""
    return {key: answer[key] for key in KEYS}


@pytest.mark.parametrize(("file", "kernel"), KERNELS)
def test_the_clock_gives_no_other_verdict(runner: Runner, file: str, kernel: str) -> None:
    """With less and less time a proof says the same, or that it is incomplete."""
    proof = proof_of(file, kernel)
    for request in (proof, wrong(proof, "tl.load(", "0.5 * tl.load(")):
        whole = runner.ask("gradcheck", request)
        assert not whole["incomplete"] and whole["status"] in ("proved", "failed")
        incomplete = 0
        for seconds in SECONDS:
            answer = runner.ask("gradcheck", {**request, "max_seconds": seconds})
            if answer["incomplete"]:
                incomplete += 1
                assert answer["status"] == "unproved"
                assert answer["reason"].startswith("incomplete: out of time after ")
            else:
                assert verdict(answer) == verdict(whole)
        assert incomplete > 0


def test_a_worker_that_is_stopped_now_and_then_says_the_same(runner: Runner) -> None:
    """As on a machine that is busy with other things: not a number changes."""
    proof = proof_of(*KERNELS[0])
    whole = runner.ask("gradcheck", proof)
    ended = threading.Event()
    stops = []

    def hold_up() -> None:
        while not ended.is_set():
            stops.append(time.monotonic())
            os.kill(runner.process.pid, signal.SIGSTOP)
            time.sleep(0.02)
            os.kill(runner.process.pid, signal.SIGCONT)
            time.sleep(0.001)

    other = threading.Thread(target=hold_up)
    other.start()
    try:
        again = runner.ask("gradcheck", proof)
    finally:
        ended.set()
        other.join()
    assert stops
    assert verdict(again) == verdict(whole)


def test_steps_that_run_out_are_named(runner: Runner) -> None:
    """Few steps: fewer configurations, the same each time, and what could not be had is said."""
    proof = proof_of(*KERNELS[1])
    few = runner.ask("gradcheck", {**proof, "max_steps": 3_000_000})
    again = runner.ask("gradcheck", {**proof, "max_steps": 3_000_000})
    assert verdict(few) == verdict(again)
    assert not few["incomplete"]
    assert len(few["configurations"]) < len(runner.ask("gradcheck", proof)["configurations"])
    none = runner.ask("gradcheck", {**proof, "max_steps": 1000})
    assert none["status"] == "unproved"
    assert "more steps than a proof may" in none["reason"]


@pytest.mark.parametrize("file", ["rms_norm", "cross_entropy"])
def test_runs_beside_each_other_cost_what_they_cost_one_after_the_other(file: str) -> None:
    """On one processor and on all: the same steps, and at each limit of them the same verdict."""
    (proof,) = list(derived(ROOT / "examples" / f"{file}.py")[1].values())[:1]
    answers = []
    for processors in (set(list(os.sched_getaffinity(0))[:1]), os.sched_getaffinity(0)):
        runner = Runner()
        os.sched_setaffinity(runner.process.pid, processors)
        whole = runner.ask("gradcheck", {**proof, "max_seconds": 100})
        limits = [int(whole["steps"] * share) for share in (0.1, 0.3, 0.5, 0.7, 0.9)]
        asked = [{**proof, "max_seconds": 100, "max_steps": limit} for limit in limits]
        answers.append([verdict(whole), *(verdict(runner.ask("gradcheck", a)) for a in asked)])
        assert whole["status"] == "proved"
        assert all(answer["steps"] <= whole["steps"] for answer in answers[-1])
        runner.close()
    assert answers[0] == answers[1]
    assert len({answer["steps"] for answer in answers[0]}) > 1, "a limit ends a proof earlier"


def test_the_loop_that_does_not_end_is_named(runner: Runner, tmp_path: Path) -> None:
    """Its line, and how often it has run: what it waits for may never come."""
    file = tmp_path / "waits.py"
    file.write_text(
        "import triton\nimport triton.language as tl\n\n\n"
        "# tad: n=8, step=0, x_ptr=f32[n], y_ptr=f32[n], BLOCK=8, grid=(1,)\n"
        "@triton.jit\n"
        "def waits(x_ptr, y_ptr, n, step, BLOCK: tl.constexpr):\n"
        "    i = tl.arange(0, BLOCK)\n"
        "    x = tl.load(x_ptr + i)\n"
        "    t = 0\n"
        "    while t < n:\n"
        "        x = x * 0.5\n"
        "        t += step\n"
        "    tl.store(y_ptr + i, x)\n"
    )
    proof = {**derived(file)[1]["waits"], "max_seconds": 100}
    answer = runner.ask("gradcheck", {**proof, "max_steps": 3_000_000})
    assert re.search(
        r"waits, line 11: it takes more steps than a proof may; this loop has run \d+ times",
        answer["reason"],
    )
