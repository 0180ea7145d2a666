"""A process with PyTorch and Triton's interpreter loaded: a job a line on stdin, its result a line on stdout.

Each job runs in a fork, so that a module that crashes, hangs or corrupts memory spoils nothing else.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import traceback
from pathlib import Path

os.environ["TRITON_INTERPRET"] = "1"


def write_backward(case: dict, folder: Path, tad: str, flags: list[str]) -> dict:
    """Runs tad-lsp --backward on the case's file, as a user would."""
    written = folder / f"{Path(case['main']).stem}_backward.py"
    command = [tad, "--backward", case["main"], "-o", written.name, "-j", "1", *flags]
    try:
        run = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
    except (subprocess.TimeoutExpired, OSError) as error:
        return {"status": 124, "said": f"tad-lsp: {error}", "written": None, "warnings": []}
    text = written.read_text() if written.exists() else ""
    return {
        "status": run.returncode,
        "said": run.stderr,
        "written": str(written) if text else None,
        "warnings": [line for line in text.splitlines() if "WARNING" in line],
    }


def measured(
    case: object, call: object, folder: Path, written: str | None, watch: object, seconds: int
) -> dict:
    """The call's result, from a fork."""
    from tests.oracle.measure import Measurement

    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reader)
        sys.path.insert(0, str(folder))
        os.dup2(2, 1)
        try:
            path = Path(written) if written else None
            result = Measurement(call, folder, case.main, path, watch, seconds).run()
        except BaseException:
            result = {"outcome": "broken", "detail": "harness: " + traceback.format_exc()}
        with os.fdopen(writer, "w") as pipe:
            json.dump(result, pipe)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        answer = pipe.read()
    _, status = os.waitpid(pid, 0)
    if not answer:
        return {"outcome": "crash", "detail": f"the process ended with status {status}"}
    return json.loads(answer)


def main() -> None:
    """Serves until stdin ends."""
    from tests.oracle import memory, shim

    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    shim.apply()
    import torch

    from tests.oracle.case import Case
    from tests.triton import interpreter_fixes

    torch.set_num_threads(1)
    interpreter_fixes.apply()
    shim.poison_memory()
    watch = memory.install()
    import tests.oracle.measure  # noqa: F401

    for line in sys.stdin:
        job = json.loads(line)
        case = Case.from_json(job["case"])
        folder = Path(job["folder"])
        for name, text in case.files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, newline="")
        result = write_backward(job["case"], folder, job["tad"], job["flags"])
        result["calls"] = [
            measured(case, call, folder, result["written"], watch, job["seconds"])
            for call in case.calls
        ]
        out.write(json.dumps(result) + "\n")
        out.flush()


if __name__ == "__main__":
    main()
