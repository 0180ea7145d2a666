"""Runs cases in a few processes of the venv with PyTorch, and judges them."""

from __future__ import annotations

import json
import os
import queue
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.oracle.case import Case
from tests.oracle.judge import FAULTS, judge

ROOT = Path(__file__).resolve().parents[2]
PYTHON = ROOT / ".torch" / "bin" / "python"


@dataclass
class Judged:
    """A call of a case, with its verdict."""

    case: Case
    index: int
    verdict: str
    reason: str
    said: str

    @property
    def is_fault(self) -> bool:
        return self.verdict in FAULTS

    @property
    def key(self) -> str:
        return f"{self.case.name}#{self.index}" if len(self.case.calls) > 1 else self.case.name


class Child:
    """One such process; started again after a crash."""

    def __init__(self, python: Path = PYTHON):
        self.python = python
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(
            [self.python, "-m", "tests.oracle.child"],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={
                **os.environ,
                "TRITON_INTERPRET": "1",
                "PYTHONPATH": str(ROOT),
                "OMP_NUM_THREADS": "1",
            },
        )

    def run(
        self, case: Case, folder: Path, tad: Path, flags: Sequence[str] = (), seconds: int = 40
    ) -> dict:
        """What tad-lsp said of the case and what became of its calls, each with so many seconds of CPU time."""
        job = {
            "case": case.to_json(),
            "folder": str(folder),
            "tad": str(tad),
            "flags": flags,
            "seconds": seconds,
        }
        self.process.stdin.write(json.dumps(job) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if answer:
            return json.loads(answer)
        self.process.wait()
        self.start()
        lost = {"outcome": "crash", "detail": "the oracle's process ended"}
        return {"status": 0, "said": "", "warnings": [], "calls": [lost for _ in case.calls]}

    def stop(self) -> None:
        self.process.stdin.close()
        self.process.wait()


def run_cases(
    cases: list[Case],
    jobs: int = 2,
    flags: Sequence[str] = (),
    python: Path = PYTHON,
    save: Path | None = None,
    progress: Callable[[Judged], None] = lambda _: None,
) -> list[Judged]:
    """Every call of every case with its verdict; folders of faults are saved below `save`."""
    tad = Path(os.environ.get("TAD_BIN", ROOT / "build")).resolve() / "tad-lsp"
    waiting: queue.SimpleQueue = queue.SimpleQueue()
    for case in cases:
        waiting.put(case)
    found: list[Judged] = []
    lock = threading.Lock()

    def work() -> None:
        child = Child(python)
        while True:
            try:
                case = waiting.get_nowait()
            except queue.Empty:
                break
            with tempfile.TemporaryDirectory(prefix="oracle-") as name:
                result = child.run(case, Path(name), tad, flags)
                judged = list(judgements(case, result))
                if save and any(j.is_fault for j in judged):
                    keep(Path(name), save, case, judged)
            with lock:
                for each in judged:
                    found.append(each)
                    progress(each)
        child.stop()

    threads = [threading.Thread(target=work) for _ in range(min(jobs, len(cases)))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    order = {case.name: i for i, case in enumerate(cases)}
    return sorted(found, key=lambda j: (order[j.case.name], j.index))


def judgements(case: Case, result: dict) -> Iterator[Judged]:
    """The calls' verdicts."""
    for index, (call, measured) in enumerate(zip(case.calls, result["calls"], strict=True)):
        verdict, reason = judge(
            result["status"], result["said"], result["warnings"], call, measured
        )
        yield Judged(case, index, verdict, reason, result["said"])


def keep(folder: Path, save: Path, case: Case, judged: list[Judged]) -> None:
    """A fault's files, the case and what was found, to look at and to run again."""
    target = save / case.kind / case.name
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(folder, target, ignore=shutil.ignore_patterns("__pycache__"))
    (target / "case.json").write_text(json.dumps(case.to_json(), indent=1))
    lines = [f"{j.key}: {j.verdict}: {j.reason}" for j in judged] + ["", judged[0].said]
    (target / "found.txt").write_text("\n".join(lines))
