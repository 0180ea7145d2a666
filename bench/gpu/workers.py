# ruff: noqa: E501
"""On a CUDA machine with PyTorch and Triton: what only a card can show of the workers' backends.

    python bench/gpu/workers.py build [--seconds 460] [--into FILE] [--only STAGE,STAGE]

Each stage prints lines that begin with `pass`, `FAIL` or `note`, goes on after a failure, and leaves what it has printed in FILE.
A summary is printed at the end; the exit status is 1 where a line failed. Stages, in their order:

machine    what there is.
numbers    the kernels of tests/runner/test_cuda_runs.py: the interpreter's numbers bit by bit, functions of a library to 1e-12 by norm.
proofs     examples/ by the interpreter and by `--backend cuda`: verdicts, worst errors and the runs in own types have to agree.
triton     the same backwards, compiled by Triton and launched, against the numbers of the interpreter (kernels.py).
warm       the layer norm example again by the same worker: under 200 ms, of which under 20 ms are neither a kernel nor a compile.
large      a layer norm of 4096 x 4096 and an attention of 2 x 4 x 1024 x 64, nothing compiled before: under two seconds.
           A gelu of 268,435,456 elements is proved, too.
times      `--time` beside `triton.testing.do_bench` of the same launch: a median over 0.05 ms may differ by 3 %.
sanitized  compute-sanitizer over workers that prove examples, for as long as there is time.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import glob
import importlib.util
import io
import json
import math
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import unittest.mock
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
SHORT_MS, APART = 0.05, 0.03
NEAR_ERROR, NEAR_TIMES, NEAR_FUNCTIONS = 1e-10, 0.02, 1e-12
WARM_S, OVERHEAD_S = 0.2, 0.02
TRITON_PARTS, TRITON_LIMIT_S = 8, 150
TRIES = 4
# In this order, until the time is over.
SANITIZED = (
    *("softmax", "layer_norm", "embedding", "cumsum", "matmul", "rms_norm", "reductions", "rotary"),
    *("dropout", "log_softmax", "activations", "cross_entropy", "state_space", "attention"),
)
TOOLS = ("memcheck", "racecheck", "initcheck")


class Report:
    """Lines for the reader and for a file, and how much time is left."""

    def __init__(self, seconds: float, into: Path | None) -> None:
        self.ends = time.monotonic() + seconds
        self.file = into.open("w", encoding="utf-8") if into else None
        self.stage, self.failed, self.passed = "", [], 0

    def left(self) -> float:
        return self.ends - time.monotonic()

    def put(self, text: str) -> None:
        print(text, flush=True)
        if self.file:
            self.file.write(text + "\n")
            self.file.flush()

    def note(self, text: str) -> None:
        self.put(f"note  {self.stage}: {text}")

    def line(self, passes: bool, text: str) -> None:
        self.put(f"{'pass' if passes else 'FAIL'}  {self.stage}: {text}")
        self.passed += passes
        if not passes:
            self.failed.append(f"{self.stage}: {text}")

    def summary(self) -> int:
        self.put(f"\n{self.passed} lines passed, {len(self.failed)} failed")
        for text in self.failed:
            self.put(f"  FAIL  {text}")
        return 1 if self.failed else 0


class Worker:
    """A `tad-runner` that answers one request at a time."""

    def __init__(self, tad: Path, backend: str = "cuda", **environment: str) -> None:
        runner = tad.with_name("tad-runner")
        self.process = subprocess.Popen(
            [runner, *(("--backend", backend) if backend != "cpu" else ())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **environment},
        )
        self.count = 0

    def ask(self, method: str, params: dict, limit_s: float = 120) -> tuple[dict, float]:
        """The result, and the seconds until it came."""
        from tests.emitted.plan import read_frame, write_frame

        self.count += 1
        killer = threading.Timer(limit_s, self.process.kill)
        killer.start()
        since = time.monotonic()
        message = {"jsonrpc": "2.0", "id": self.count, "method": method, "params": params}
        write_frame(self.process.stdin, message)
        while answer := read_frame(self.process.stdout):
            if answer.get("id") == self.count:
                killer.cancel()
                return answer["result"], time.monotonic() - since
        killer.cancel()
        raise RuntimeError(f"the worker ended, or took more than {limit_s} s")

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()


def report_of(tad: Path, *arguments: object, limit_s: float = 200) -> dict:
    """What tad-lsp says as JSON."""
    command = [str(tad), *map(str, arguments), "--format", "json"]
    run = subprocess.run(command, capture_output=True, text=True, timeout=limit_s)
    if not run.stdout:
        raise RuntimeError(run.stderr.strip()[-300:] or f"exit status {run.returncode}")
    return json.loads(run.stdout)


def but(exceptions: object) -> str:
    """The exceptions in words."""
    return f"but {exceptions}" if exceptions else ""


# --- machine ---


def machine(report: Report, tad: Path) -> None:
    worker = Worker(tad)
    try:
        backend = worker.ask("probe", {})[0]["backends"][1]
    finally:
        worker.close()
    found = {part: backend.get(part, {}).get("found") for part in ("gpu", "driver", "nvrtc")}
    report.line(backend["available"], f"{found}{backend.get('missing', '')}")
    import torch
    import triton

    report.note(f"PyTorch {torch.__version__}, Triton {triton.__version__}, {os.cpu_count()} cores")


# --- numbers ---


def cases() -> object:
    """The tests' module, for its kernels; its marks are none where pytest is missing."""
    if not importlib.util.find_spec("pytest"):
        sys.modules["pytest"] = unittest.mock.MagicMock()
    from tests.runner import test_cuda_runs

    return test_cuda_runs


def distance(got: dict, wanted: dict) -> float:
    """By norm, over all buffers; infinite where one is NaN and the other is not."""
    pairs = [pair for name in wanted for pair in zip(got[name], wanted[name], strict=True)]
    known = [(a, b) for a, b in pairs if a is not None and b is not None and math.isfinite(b)]
    if any((a is None) != (b is None) for a, b in pairs):
        return math.inf
    size = math.sqrt(sum(b * b for _, b in known))
    return math.sqrt(sum((a - b) ** 2 for a, b in known)) / (size or 1)


def numbers(report: Report, tad: Path) -> None:
    tests = cases()
    workers = Worker(tad, "cpu"), Worker(tad)
    functions = f"\ndef k(X, Y, N, Out, M, n, scale, BLOCK: tl.constexpr):{tests.FUNCTIONS}"
    unlike, refused, far = [], [], 0.0
    for name in (*tests.KERNELS, "functions"):
        for own_types in (False, True):
            body = functions if name == "functions" else None
            params = {**tests.parameters(name, body), "own_types": own_types}
            wanted, got = (worker.ask("run", params)[0] for worker in workers)
            off = distance(got["buffers"], wanted["buffers"])
            if name == "functions" and not own_types:
                far = off
            elif name != "functions" and got["buffers"] != wanted["buffers"]:
                unlike.append(f"{name}{' in own types' if own_types else ''}: {off:.1e} by norm")
            if got["cuda"]["launches"] != 1:
                refused.append(f"{name}: {got['cuda'].get('refused')}")
    for worker in workers:
        worker.close()
    count = 2 * len(tests.KERNELS)
    report.line(not unlike, f"{count - len(unlike)} of {count} runs bit by bit {but(unlike)}")
    report.line(far < NEAR_FUNCTIONS, f"functions of a library: {far:.1e} by norm")
    report.line(not refused, f"all of them ran on the card {but(refused)}")


# --- proofs ---


def own_runs(kernel: dict) -> list:
    """Of the runs in own types: what they ran in, and what was found."""
    own = kernel.get("own_types") or {"runs": [], "finding": None}
    return [[(run["types"], run.get("reason")) for run in own["runs"]], own["finding"] is not None]


def times_apart(one: dict, other: dict) -> float:
    """The largest relative difference of what the runs in own types measured."""
    runs = [(kernel.get("own_types") or {"runs": []})["runs"] for kernel in (one, other)]
    pairs = [[run.get("times") or 0 for run in pair] for pair in zip(*runs, strict=False)]
    return max((abs(a - b) / max(a, b, 1e-3) for a, b in pairs), default=0)


def proofs(report: Report, tad: Path) -> None:
    found = {}
    for backend in ("cpu", "cuda"):
        since = time.monotonic()
        kernels = report_of(tad, "--check", "--grad", "--backend", backend, EXAMPLES)["kernels"]
        found[backend] = {(k["file"], k["name"]): k for k in kernels}
        report.note(f"{len(kernels)} kernels by {backend} in {time.monotonic() - since:.1f} s")
    apart, unlike, unrun, largest = [], [], [], 0.0
    for key, one in found["cpu"].items():
        other = found["cuda"].get(key, {})
        near = abs((one["worst_error"] or 0) - (other.get("worst_error") or 0)) <= NEAR_ERROR
        if one["status"] != other.get("status") or not near:
            what = [(k.get("status"), k.get("worst_error")) for k in (one, other)]
            apart.append(f"{key[1]} {what}")
        off = times_apart(one, other)
        largest = max(largest, off)
        if own_runs(one) != own_runs(other) or off > NEAR_TIMES:
            unlike.append(f"{key[1]} {own_runs(one)} {own_runs(other)} {off:.3f}")
        use = other.get("cuda", {})
        if min(use.get(k, 0) for k in ("launches", "backward_launches", "own_type_launches")) == 0:
            unrun.append(f"{key[1]}: {use.get('refused', use)}")
    proved = sum(k["status"] == "proved" for k in found["cpu"].values())
    report.line(
        not apart, f"{proved} of {len(found['cpu'])} proved by cpu, alike by cuda {but(apart)}"
    )
    report.line(
        not unlike, f"own types as by cpu (times apart by {largest:.4f} at most) {but(unlike)}"
    )
    report.line(not unrun, f"forward, backward and own types had launches on the card {but(unrun)}")


# --- triton ---


def triton_part(part: int, parts: int) -> None:
    """Prints `key<TAB>verdict` of each kernel of a part of the examples."""
    import tests.emitted.plan as plan

    plan.FILES = plan.EXAMPLES[part::parts]
    import kernels
    import torch
    import triton

    triton.set_allocator(lambda size, _, __: torch.empty(size, dtype=torch.int8, device="cuda"))
    runner = plan.Runner()
    with tempfile.TemporaryDirectory() as folder:
        for key, (path, name) in kernels.KEYS.items():
            if name in plan.derived(path)[1]:
                print(f"{key}\t{kernels.verdict_of(key, runner, folder)}", flush=True)


def triton_kernels(report: Report, tad: Path) -> None:
    command = [sys.executable, __file__, str(tad.parent), "--triton-part"]
    limit = min(TRITON_LIMIT_S, report.left() - 60)

    def run(part: int) -> str:
        whole = [*command, f"{part}/{TRITON_PARTS}"]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        exact = {"TRITON_F32_DEFAULT": "ieee"}  # products of float32 are of TF32 otherwise
        started = subprocess.Popen(whole, env={**os.environ, **exact}, **pipes)
        killer = threading.Timer(limit, started.kill)
        killer.start()
        out, error = started.communicate()
        killer.cancel()
        ended = started.returncode == 0
        return out if ended else f"{out}part {part}\t{error.strip()[-200:] or 'out of time'}\n"

    with concurrent.futures.ThreadPoolExecutor(TRITON_PARTS) as pool:
        texts = list(pool.map(run, range(TRITON_PARTS)))
    verdicts = dict(
        line.split("\t", 1) for text in texts for line in text.splitlines() if "\t" in line
    )
    others = {key: said for key, said in verdicts.items() if not said.startswith("agrees")}
    singles = sum(said == "agrees in singles" for said in verdicts.values())
    agreed = len(verdicts) - len(others)
    report.line(
        not others,
        f"{agreed} of {len(verdicts)} backwards agree, {singles} of them in float32 {but(others)}",
    )


# --- warm and large ---

# What a launch of the real sizes is, for the kernels that are checked at such, and what it may take.
LARGE = {
    "layer_norm": (
        "layer_norm_kernel",
        "M=4096, X=f32[M, N], Y=f32[M, N], W=f32[N], B=f32[N], Mean=f32[M], Rstd=f32[M], "
        "stride=4096, N=4096, eps=0.00001, BLOCK_SIZE=1024, grid=(M,)",
        2.0,
    ),
    "attention": (
        "attention_kernel",
        "Q=f32[2, 4, 1024, 64], K=f32[2, 4, 1024, 64], V=f32[2, 4, 1024, 64], Out=f32[2, 4, 1024, 64], "
        "Lse=f32[2, 4, 1024], scale=0.125, "
        + "".join(f"stride_{x}b=262144, stride_{x}h=65536, stride_{x}m=64, " for x in "qo")
        + "".join(f"stride_{x}b=262144, stride_{x}h=65536, stride_{x}n=64, " for x in "kv")
        + "n_heads=4, seq_q=1024, seq_k=1024, CAUSAL=True, HEAD_DIM=64, BLOCK_M=64, BLOCK_N=32, grid=(16, 8)",
        2.0,
    ),
    "activations": (
        "gelu_kernel",
        "N=268435456, x_ptr=f32[N], y_ptr=f32[N], n_elements=N, APPROXIMATE=False, BLOCK=1024, grid=(N // 1024,)",
        30.0,
    ),
}


def proof(example: str, kernel: str, line: str = "") -> dict:
    """What tad-lsp asks for, with that line above the kernel."""
    from tests.emitted.plan import derived

    params = derived(EXAMPLES / f"{example}.py")[1][kernel]
    spec = {**params["spec"], "text": f"# tad: {line}"} if line else params["spec"]
    return {**params, "spec": spec, "max_seconds": 60}


def spent(result: dict, seconds: float) -> tuple[float, float, dict]:
    """Overhead, that is all but kernels and compiles and the opening of the GPU; what of it the interpreter had; and all parts."""
    parts = result["cuda"].get("seconds", {})
    named = sum(parts.get(key, 0) for key in ("opening", "compiling", "running"))
    return seconds - named, parts.get("interpreting", 0), parts


def warm(report: Report, tad: Path) -> None:
    for name, line in (("at a proof's sizes", ""), ("of 4096 x 4096", LARGE["layer_norm"][1])):
        worker = Worker(tad)
        try:
            params = proof("layer_norm", "layer_norm_kernel", line)
            runs = [worker.ask("gradcheck", params) for _ in range(7)]
        finally:
            worker.close()
        result, _ = runs[-1]
        seconds = statistics.median(took for _, took in runs[2:])
        overheads = [spent(*run) for run in runs[2:]]
        overhead = statistics.median(one[0] for one in overheads)
        interpreting = statistics.median(one[1] for one in overheads)
        status = f"{result['status']}, {result['cuda']['launches']} launches"
        report.line(
            result["status"] == "proved" and seconds < WARM_S,
            f"layer norm {name}: {1000 * seconds:.0f} ms again ({status}; first {runs[0][1]:.2f} s)",
        )
        words = f"layer norm {name}: {1000 * overhead:.1f} ms are neither kernel nor compile, {1000 * interpreting:.1f} of them the interpreter's"
        report.line(overhead < OVERHEAD_S, words)
    with tempfile.TemporaryDirectory() as cache:
        worker = Worker(tad, XDG_CACHE_HOME=cache)
        source = "import triton\nimport triton.language as tl\n\n\n@triton.jit\ndef k(X, Y):\n    at = tl.arange(0, 32)\n    tl.store(Y + at, tl.load(X + at) * 2)\n"
        tensors = {name: {"data": [1.0] * 32, "dtype": "fp32"} for name in "XY"}
        asked = {"path": "k.py", "source": source, "kernel": "k", "arguments": tensors, "grid": [1]}
        result, seconds = worker.ask("run", asked)
        worker.close()
    overhead, _, parts = spent(result, seconds)
    shown = {key: round(value, 3) for key, value in parts.items()}
    report.line(
        overhead < OVERHEAD_S,
        f"the first result of a fresh worker: {1000 * overhead:.1f} ms of its own beside {shown}",
    )


def large(report: Report, tad: Path) -> None:
    for example, (kernel, line, most_s) in LARGE.items():
        with tempfile.TemporaryDirectory() as cache:
            for state in ("nothing compiled before", "compiled by another process"):
                worker = Worker(tad, XDG_CACHE_HOME=cache)
                try:
                    result, seconds = worker.ask("gradcheck", proof(example, kernel, line))
                    again = worker.ask("gradcheck", proof(example, kernel, line))[1]
                finally:
                    worker.close()
                where = [entry.get("backend") for entry in result["configurations"]]
                parts = {k: round(v, 2) for k, v in result["cuda"].get("seconds", {}).items()}
                report.line(
                    result["status"] == "proved" and where == ["cuda"] and seconds < most_s,
                    f"{kernel}, {state}: {seconds:.2f} s, again {again:.2f} s; {result['status']} by {where}, "
                    f"worst error {result['worst_error']}, {result['reason']} {parts} {result['cuda'].get('refused', '')}",
                )


# --- times ---


def timed(tad: Path, folder: Path, file: str, name: str, line: str) -> float:
    """The median that `--time` has for the forward, in ms."""
    text = (EXAMPLES / file).read_text().split("\n")
    at = next(i for i, row in enumerate(text) if row.startswith(f"def {name}("))
    while text[at - 1].startswith("@"):
        at -= 1
    text.insert(at, f"# tad time: {line}")
    copy = folder / file
    copy.write_text("\n".join(text))
    found = report_of(tad, "--time", f"{copy}:{name}", "--python", sys.executable)["kernels"][0]
    if "median_ms" not in found.get("forward", {}):
        raise RuntimeError(f"{name} was not timed: {json.dumps(found)[:300]}")
    return found["forward"]["median_ms"]


def times(report: Report, tad: Path) -> None:
    import timed_cases
    import triton.testing

    for case in timed_cases.CASES:
        try:
            tries, kept = [], []
            with tempfile.TemporaryDirectory() as folder:
                while len(tries) < TRIES and (not tries or tries[-1][2] > APART):
                    launch, file, name, line = case()  # with tensors elsewhere each time
                    kept.append(timed_cases.rand(1 << 20, 1 + len(tries)))
                    ours = timed(tad, Path(folder), file, name, line)
                    peer = triton.testing.do_bench(launch, return_mode="median")
                    tries.append((ours, peer, abs(ours - peer) / peer))
        except Exception as error:  # noqa: BLE001 one kernel's failure is a line
            report.line(False, str(error)[:400])
            continue
        ours, peer, apart = tries[-1]
        shown = ", ".join(f"{a:.4f} and {b:.4f} ms ({100 * c:.1f} %)" for a, b, c in tries)
        is_near = math.isfinite(ours) and (apart <= APART or peer < SHORT_MS)
        report.line(is_near, f"{name}: --time and do_bench {shown}")


# --- sanitized ---


def sanitizer() -> str | None:
    """Its path: of the environment, else of a toolkit."""
    found = shutil.which("compute-sanitizer")
    places = sorted(glob.glob("/usr/local/cuda*/bin/compute-sanitizer"))
    return found or (places[-1] if places else None)


def watch(program: str, tad: Path, folder: Path, tool: str, example: str, limit_s: float) -> str:
    """What a tool says of a worker that proves an example's kernels: its summary, or that there was no time for it."""
    from tests.emitted.plan import derived, read_frame

    asked = folder / f"{example}.{tool}.requests"
    requests = derived(EXAMPLES / f"{example}.py")[1].values()
    with asked.open("wb") as file:
        for number, params in enumerate(requests):
            message = {"jsonrpc": "2.0", "id": number, "method": "gradcheck"}
            body = json.dumps({**message, "params": {**params, "max_seconds": limit_s}}).encode()
            file.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
    log = asked.with_suffix(".log")
    command = [program, "--tool", tool, "--log-file", log, tad.with_name("tad-runner")]
    with asked.open("rb") as stdin:
        started = subprocess.Popen(
            [*map(str, command), "--backend", "cuda"],
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # the tool starts the worker as a process of its own
        )
        killer = threading.Timer(limit_s, os.killpg, (started.pid, signal.SIGKILL))
        killer.start()
        out, _ = started.communicate()
        killer.cancel()
    answers, stream = [], io.BytesIO(out)
    while answer := read_frame(stream):
        answers.append(answer.get("result", {}))
    proved = sum(answer.get("status") == "proved" for answer in answers)
    launches = sum(answer.get("cuda", {}).get("launches", 0) for answer in answers)
    text = log.read_text(errors="replace") if log.exists() else ""
    summary = [row.strip("= ") for row in text.splitlines() if "SUMMARY" in row]
    return f"{proved} of {len(requests)} proved, {launches} launches: {'; '.join(summary) or 'no summary'}"


def sanitized(report: Report, tad: Path) -> None:
    program = sanitizer()
    if not program:
        report.line(False, "no compute-sanitizer here")
        return
    ends = report.ends - 15
    skipped, clean = [], 0

    def run(job: tuple[str, str]) -> tuple[str, str, str | None]:
        left = ends - time.monotonic()
        said = watch(program, tad, Path(folder), *job, left) if left > 5 else None
        return *job, said

    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(6) as pool:
        jobs = [(tool, example) for example in SANITIZED for tool in TOOLS]
        for tool, example, said in pool.map(run, jobs):
            if said is None or "no summary" in said:
                skipped.append(f"{example} by {tool}")
                continue
            is_clean = bool(re.search(r"SUMMARY: (0 errors|0 hazards)", said))
            clean += is_clean
            report.line(is_clean and not said.startswith("0 of"), f"{tool}, {example}: {said}")
    report.line(
        clean > 0, f"{clean} watched and nothing found; no time was left for {skipped or 'none'}"
    )


STAGES = {
    "machine": machine,
    "numbers": numbers,
    "proofs": proofs,
    "triton": triton_kernels,
    "warm": warm,
    "large": large,
    "times": times,
    "sanitized": sanitized,
}
LEAST_S = {"triton": 90, "times": 40, "sanitized": 40}


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=Path)
    parser.add_argument("--seconds", type=float, default=460)
    parser.add_argument("--into", type=Path)
    parser.add_argument("--only", default=",".join(STAGES))
    parser.add_argument("--triton-part", help=argparse.SUPPRESS)
    options = parser.parse_args()
    tad = options.build.resolve() / "tad-lsp"
    os.environ["TAD_BIN"] = str(tad.parent)
    sys.path[:0] = [str(ROOT), str(ROOT / "bench/gpu")]
    if options.triton_part:
        triton_part(*map(int, options.triton_part.split("/")))
        return 0
    report = Report(options.seconds, options.into)
    for name in options.only.split(","):
        report.stage = name
        since = time.monotonic()
        if report.left() < LEAST_S.get(name, 10):
            report.line(False, f"not reached, {report.left():.0f} s were left")
            continue
        try:
            STAGES[name](report, tad)
        except Exception:  # noqa: BLE001 the other stages are still to be seen
            report.line(False, traceback.format_exc().strip().splitlines()[-1][:400])
        report.note(f"took {time.monotonic() - since:.1f} s")
    return report.summary()


if __name__ == "__main__":
    sys.exit(main())
