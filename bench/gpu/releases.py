"""Launches of what several releases of Triton compile, from C and without PyTorch, against the interpreter's numbers.

    python bench/gpu/releases.py pack build FILE --standin LIBRARY PYTHON...
    python bench/gpu/releases.py check build FILE

`pack` needs no GPU: each PYTHON has a release of Triton, LIBRARY is tests/standin/launches.c as a library. It has the
kernels of examples/ compiled, forward and backward, for a card such as an H200, and puts requests, cubins and how these
are launched into FILE. `check` needs such a card, and neither Triton nor PyTorch: `tad-runner` launches each kernel
once, on what those before it left in memory. Its outputs are held against the interpreter's for the same memory, in the
element types of the launch, and a release against the first. Prints a line for each kernel and release that differs,
and counts; the exit status is 1 where one does.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import math
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Of a tensor's largest element: sums have another order.
NEAR = {"float64": 1e-9, "float32": 1e-5, "float16": 1e-2, "bfloat16": 5e-2}
NAMES = {"fp64": "float64", "fp32": "float32", "fp16": "float16", "bf16": "bfloat16"}
CARD = {"STAND_IN_PROCESSORS": "132", "STAND_IN_SHARED": "232448"}
EXACT = {"TRITON_F32_DEFAULT": "ieee"}  # products of float32 are of TF32 otherwise
ALL = 1 << 22


def key_of(request: str) -> str:
    return hashlib.sha256(request.strip().encode()).hexdigest()


# --- in the place of the Python that compiles ---


def record(log: str, *command: str) -> None:
    """Passes lines on to the Python that compiles, and notes what it answers."""
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    with Path(log).open("a") as file:
        first = child.stdout.readline()
        print(json.dumps({"first": first}), file=file, flush=True)
        print(first, end="", flush=True)
        for line in sys.stdin:
            child.stdin.write(line)
            child.stdin.flush()
            answer = child.stdout.readline()
            kept = {**json.loads(answer), "lines": []}
            print(json.dumps({"key": key_of(line), "answer": kept}), file=file, flush=True)
            print(answer, end="", flush=True)


def replay(pack: str, release: str) -> None:
    """Answers as the Python of that release did."""
    kept = unpacked(Path(pack))["releases"][release]
    print(kept["first"], end="", flush=True)
    for line in sys.stdin:
        missing = {"error": f"{release} was not asked for this kernel"}
        print(json.dumps(kept["answers"].get(key_of(line), missing)), flush=True)


def unpacked(file: Path) -> dict:
    with gzip.open(file, "rt") as stream:
        return json.load(stream)


# --- workers ---


class NotHeld(Exception):
    """Why a launch is not run by the interpreter, too."""


class Worker:
    """A `tad-runner` that answers one request at a time."""

    def __init__(self, build: Path, *options: str, **environment: str) -> None:
        self.process = subprocess.Popen(
            [build / "tad-runner", *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **environment},
        )
        self.count = 0

    def ask(self, method: str, params: dict) -> dict:
        from tests.emitted.plan import read_frame, write_frame

        self.count += 1
        message = {"jsonrpc": "2.0", "id": self.count, "method": method, "params": params}
        write_frame(self.process.stdin, message)
        while answer := read_frame(self.process.stdout):
            if answer.get("id") == self.count:
                return answer
        raise RuntimeError("the worker ended")


# --- pack ---


def request_of(runner: Worker, proof: dict, text: str | None) -> dict:
    """What `time` is asked for of a kernel: its plan, and the text with all that is launched."""
    answer = runner.ask("plan", {**proof, "spec": {**proof["spec"], "text": text}})
    if "error" in answer:
        raise RuntimeError(answer["error"]["message"])
    names = ("path", "source", "modules", "kernel")
    request = {name: proof[name] for name in names} | {"plan": answer["result"]}
    request["module"] = proof["source"] + "\n\n" + proof["backward"]["source"]
    return request


def launch_count(request: dict) -> int:
    return 1 + len(request["plan"].get("launches") or [])


def texts_of(runner: Worker, key: str, proof: dict) -> list[str | None]:
    """Configurations to try: the file's own, then those of its proof that a launcher says."""
    from tests.emitted.configuration import CONFIGURATIONS

    found = runner.ask("gradcheck", {**proof, "max_seconds": 20})["result"]["configurations"]
    texts = [entry["text"] for entry in found if entry["source"] == "launcher"]
    return [CONFIGURATIONS.get(key) or proof["spec"]["text"], *texts]


def compiled(worker: Worker, request: dict, python: list[str]) -> str | None:
    """NULL where all launches were compiled, else why not."""
    asked = {**request, "python": python, "launches": launch_count(request), "max_seconds": 300}
    return worker.ask("time", asked).get("error", {}).get("message")


def pack(options: argparse.Namespace) -> int:
    from tests.emitted.configuration import KEYS
    from tests.emitted.plan import EXAMPLES, derived

    library = str(Path(options.standin).resolve())
    standin = {"TAD_LIBCUDA": library, "TAD_NVML": library, "TAD_NVRTC": library, **CARD, **EXACT}
    plain, cases, releases = Worker(options.build), {}, {}
    for number, python in enumerate(options.pythons):
        log = Path(f"{options.file}.{number}")
        log.unlink(missing_ok=True)
        worker = Worker(options.build, "--backend", "cuda", **standin)
        own = [sys.executable, __file__, "record", str(log), python]
        for key, (path, name) in KEYS.items():
            if path not in EXAMPLES or name not in derived(path)[1]:
                continue
            if options.only and not any(part in key for part in options.only.split(",")):
                continue
            said = "no plan"
            proof = derived(path)[1][name]
            texts = [cases[key]["text"]] if key in cases else texts_of(plain, key, proof)
            for text in texts:
                try:
                    request = request_of(plain, proof, text)
                except RuntimeError as error:
                    said = str(error)
                    continue
                said = compiled(worker, request, own)
                if not said:
                    cases.setdefault(key, {"text": text, "request": request})
                    break
            print(f"{python}: {key}: {said or 'compiled'}", flush=True)
        worker.process.kill()
        rows = [json.loads(line) for line in log.read_text().splitlines()]
        first = rows[0]["first"]
        answers = {row["key"]: row["answer"] for row in rows if "key" in row}
        releases[json.loads(first)["triton"]] = {"first": first, "answers": answers}
    with gzip.open(options.file, "wt") as file:
        json.dump({"cases": cases, "releases": releases}, file)
    return 0


# --- check ---


def keys_of(plan: dict) -> dict[str, str]:
    """Of all tensors: their element types."""
    found = {}
    for launch in [plan, *(plan.get("launches") or [])]:
        for argument in launch["arguments"]:
            if argument["kind"] == "buffer":
                dtype = argument["dtype"]
                found.setdefault(argument["key"], NAMES.get(dtype, dtype))
    return found


def states(worker: Worker, request: dict, python: list[str]) -> tuple[list[dict], dict]:
    """What lies in all tensors before the first launch and after each; and the plan with what the card chose."""
    found = []
    asked = {**request, "python": python, "read": dict.fromkeys(keys_of(request["plan"]), ALL)}
    for count in range(launch_count(request) + 1):
        answer = worker.ask("time", {**asked, "launches": count})
        if "error" in answer:
            raise RuntimeError(answer["error"]["message"])
        found.append(answer["result"]["read"])
    return found, answer["result"]["plan"]


def run_argument(argument: dict, state: dict) -> dict:
    """An argument of `plan` as `run` takes it."""
    if argument["kind"] == "buffer":
        if argument.get("block") or argument.get("first"):
            raise NotHeld("a descriptor, or elements in front of the first")
        return {"data": state[argument["key"]], "dtype": argument["dtype"]}
    if argument["kind"] in ("int", "float"):
        named = {"dtype": argument["dtype"]} if "dtype" in argument else {}
        return {argument["kind"]: argument["value"], **named}
    return {name: value for name, value in argument.items() if name not in ("name", "kind")}


def interpreted(runner: Worker, request: dict, launch: dict, state: dict) -> dict:
    """What the interpreter leaves in memory, by the tensors' keys."""
    arguments = {a["name"]: run_argument(a, state) for a in launch["arguments"]}
    asked = {"path": request["path"], "source": request["module"], "modules": request["modules"]}
    asked |= {"kernel": launch.get("kernel", request["kernel"]), "own_types": True}
    asked |= {"allow_tf32": False}
    asked |= {"arguments": arguments, "grid": launch.get("grid") or request["plan"]["grid"]}
    answer = runner.ask("run", asked)
    if "error" in answer:
        raise NotHeld(answer["error"]["message"])
    names = {a["name"]: a["key"] for a in launch["arguments"] if a["kind"] == "buffer"}
    return {names[name]: values for name, values in answer["result"]["buffers"].items()}


def distance(got: list, wanted: list) -> float:
    """The largest difference, of the largest element; infinite where one is a number and the other is not."""
    is_one = [(a is None) == (b is None) for a, b in zip(got, wanted, strict=True)]
    pairs = [(a, b) for a, b in zip(got, wanted, strict=True) if a is not None and b is not None]
    largest = max((abs(b) for _, b in pairs if math.isfinite(b)), default=0) or 1
    off = max((0 if a == b else abs(a - b) for a, b in pairs), default=0) / largest
    return off if all(is_one) else math.inf


def held_against(runner: Worker, request: dict, plan: dict, found: list[dict]) -> tuple[list, int]:
    """Tensors that the interpreter makes otherwise, and how many launches it ran."""
    types, far, count = keys_of(plan), [], 0
    for number, launch in enumerate([plan, *(plan.get("launches") or [])]):
        try:
            wanted = interpreted(runner, request, launch, found[number])
        except NotHeld as error:
            far.append(f"not held against the interpreter: {error}")
            continue
        count += 1
        for key, values in wanted.items():
            off = distance(found[number + 1][key], values)
            if not off <= NEAR.get(types[key], 0):
                far.append(f"launch {number}: `{key}` is off by {off:.1e}")
    return far, count


def check(options: argparse.Namespace) -> int:
    packed, failed = unpacked(options.file), 0
    plain, first = Worker(options.build), {}
    for release in packed["releases"]:
        worker = Worker(options.build, "--backend", "cuda")
        python = [sys.executable, __file__, "replay", str(options.file), release]
        counts = {"kernels": 0, "launches": 0, "bit by bit as the first": 0, "refused": 0}
        for key, case in packed["cases"].items():
            request = case["request"]
            try:
                found, plan = states(worker, request, python)
                far, count = held_against(plain, request, plan, found)
            except RuntimeError as error:
                counts["refused"] += 1
                print(f"note  {release} {key}: {str(error)[:300]}", flush=True)
                continue
            counts["kernels"] += 1
            counts["launches"] += count
            counts["bit by bit as the first"] += found == first.setdefault(key, found)
            wrong = [words for words in far if not words.startswith("not held")]
            failed += bool(wrong)
            for words in far:
                print(f"{'FAIL' if wrong else 'note'}  {release} {key}: {words}", flush=True)
        worker.process.kill()
        print(f"{release}: {counts}", flush=True)
    print(f"{failed} failed")
    return 1 if failed else 0


def main() -> int:
    if sys.argv[1:2] == ["record"]:
        record(*sys.argv[2:])
        return 0
    if sys.argv[1:2] == ["replay"]:
        replay(*sys.argv[2:4])
        return 0
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=("pack", "check"))
    parser.add_argument("build", type=Path)
    parser.add_argument("file", type=Path)
    parser.add_argument("pythons", nargs="*")
    parser.add_argument("--standin")
    parser.add_argument("--only")
    options = parser.parse_intermixed_args()
    options.build = options.build.resolve()
    os.environ["TAD_BIN"] = str(options.build)
    sys.path.insert(0, str(ROOT))
    return pack(options) if options.what == "pack" else check(options)


if __name__ == "__main__":
    sys.exit(main())
