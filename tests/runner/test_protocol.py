"""Talks JSON-RPC with the real `tad-runner` of the folder TAD_BIN."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(os.environ.get("TAD_BIN", ROOT / "build")).resolve()

HEAD = "import triton\nimport triton.language as tl\n\n"
SQUARE = f"""{HEAD}
@triton.jit
def square(X, Y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(X + at, mask=at < n, other=0.0)
    tl.store(Y + at, x * x, mask=at < n)
"""
SQUARE_BACKWARD = f"""{SQUARE}
@triton.jit
def square_backward(X, dY, dX, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(X + at, mask=at < n, other=0.0)
    tl.store(dX + at, 2 * x * tl.load(dY + at, mask=at < n, other=0.0), mask=at < n)
"""
ENDLESS = f"""{HEAD}
@triton.jit
def endless(X, n):
    while n > 0:
        n = n + 0
    tl.store(X, n)
"""


class Runner:
    """One runner process; `notices` collects its notifications."""

    def __init__(self, **more: object) -> None:
        self.process = subprocess.Popen(
            [str(BIN / "tad-runner")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, **more
        )
        self.notices: list[dict] = []

    def write(self, text: str | bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(text if isinstance(text, bytes) else text.encode())
        self.process.stdin.flush()

    def send(self, method: str, params: object, number: int | str | None) -> None:
        message = {"jsonrpc": "2.0", "method": method, "params": params}
        if number is not None:
            message["id"] = number
        body = json.dumps(message)
        self.write(f"Content-Length: {len(body.encode())}\r\n\r\n{body}")

    def receive(self) -> dict:
        """The next answer; notifications are put aside."""
        assert self.process.stdout is not None
        while True:
            length = 0
            while (line := self.process.stdout.readline().strip()) != b"":
                name, _, value = line.partition(b":")
                assert name == b"Content-Length"
                length = int(value)
            assert length, "the runner ended"
            message = json.loads(self.process.stdout.read(length))
            if "method" not in message:
                return message
            self.notices.append(message)

    def ask(self, method: str, params: object) -> dict:
        self.send(method, params, 1)
        return self.receive()

    def end(self) -> None:
        self.process.kill()
        self.process.communicate()


@pytest.fixture
def runner() -> Iterator[Runner]:
    started = Runner()
    yield started
    started.process.kill()
    started.process.wait()


def gradcheck_params(backward: str = SQUARE_BACKWARD) -> dict:
    """The gradient check of `square`."""
    same = {name: {"same": name} for name in ("X", "n", "BLOCK")}
    arguments = {**same, "dY": {"upstream": "Y"}, "dX": {"gradient": "X"}}
    return {
        "path": "square.py",
        "source": SQUARE,
        "kernel": "square",
        "backward": {
            "source": backward,
            "launches": [{"kernel": "square_backward", "arguments": arguments}],
        },
        "inputs": ["X"],
        "outputs": ["Y"],
        "spec": {"text": None, "pyproject": None, "launchers": True},
        "seed": 1,
        "max_seconds": 20,
    }


def run_params(source: str, kernel: str, arguments: dict) -> dict:
    """A forward run of one program."""
    return {"path": "k.py", "source": source, "kernel": kernel, "arguments": arguments, "grid": [1]}


def test_gradcheck_proves_and_refutes(runner: Runner) -> None:
    result = runner.ask("gradcheck", gradcheck_params())["result"]
    assert result["status"] == "proved"
    assert result["worst_error"] < 1e-9
    assert result["inputs"][0]["name"] == "X"
    assert result["configurations"][0]["source"] == "kernel"
    assert [notice["method"] for notice in runner.notices]
    wrong = SQUARE_BACKWARD.replace("2 * x", "3 * x")
    result = runner.ask("gradcheck", gradcheck_params(wrong))["result"]
    assert result["status"] == "failed"
    worst = result["inputs"][0]["worst"]
    assert worst["actual"] == pytest.approx(1.5 * worst["expected"])


PRODUCT = f"""{HEAD}
@triton.jit
def product(X, W, Y, Z, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(X + at, mask=at < n, other=0.0)
    w = tl.load(W + at, mask=at < n, other=0.0)
    tl.store(Y + at, x * x, mask=at < n)
    tl.store(Z + at, x * w, mask=at < n)
"""
PRODUCT_BACKWARD = f"""{PRODUCT}
@triton.jit
def product_backward(X, W, dY, dZ, dX, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(X + at, mask=at < n, other=0.0)
    w = tl.load(W + at, mask=at < n, other=0.0)
    dy = tl.load(dY + at, mask=at < n, other=0.0)
    dz = tl.load(dZ + at, mask=at < n, other=0.0)
    tl.store(dX + at, 2 * x * dy + w * dz, mask=at < n)
"""


def product_params(backward: str, outputs: dict[str, str]) -> dict:
    """The gradient check of `product` with respect to X alone."""
    same = {name: {"same": name} for name in ("X", "W", "n", "BLOCK")}
    upstream = {name: {"upstream": output} for name, output in outputs.items()}
    launch = {
        "kernel": "product_backward",
        "arguments": {**same, **upstream, "dX": {"gradient": "X"}},
    }
    return {
        **gradcheck_params(),
        "source": PRODUCT,
        "kernel": "product",
        "backward": {"source": backward, "launches": [launch]},
        "outputs": list(outputs.values()),
    }


def test_an_input_or_output_that_is_left_out_is_refuted(runner: Runner) -> None:
    both = {"dY": "Y", "dZ": "Z"}
    result = runner.ask("gradcheck", product_params(PRODUCT_BACKWARD, both))["result"]
    assert result["status"] == "failed"
    assert "gradient of W" in result["reason"]
    params = {**product_params(PRODUCT_BACKWARD, both), "partial": True}
    assert runner.ask("gradcheck", params)["result"]["status"] == "proved"
    one = PRODUCT_BACKWARD.replace(" + w * dz", "").replace("dZ, ", "")
    one = re.sub("    dz = .*\n", "", one)
    params = {**product_params(one, {"dY": "Y"}), "partial": True}
    result = runner.ask("gradcheck", params)["result"]
    assert result["status"] == "failed"
    assert "gradient of X" in result["reason"]


BOTH_BACKWARD = PRODUCT_BACKWARD.replace("dX, n", "dX, dW, n") + (
    "    tl.store(dW + at, x * dz, mask=at < n)\n"
)


def both_params(backward: str) -> dict:
    """The gradient check of `product` with respect to X and W."""
    params = product_params(backward, {"dY": "Y", "dZ": "Z"})
    params["backward"]["launches"][0]["arguments"]["dW"] = {"gradient": "W"}
    return {**params, "inputs": ["X", "W"]}


def test_the_worst_error_is_one_of_those_that_are_listed(runner: Runner) -> None:
    result = runner.ask("gradcheck", both_params(BOTH_BACKWARD))["result"]
    assert result["status"] == "proved"
    together = result["together"]
    assert together["directions"] > 0
    listed = [one["error"] for one in (*result["inputs"], together)]
    assert max(listed) == result["worst_error"]


@pytest.mark.parametrize(
    ("x_times", "w_times", "worse"), [("1.01 * ", "3 * ", "W"), ("3 * ", "1.01 * ", "X")]
)
def test_the_reason_names_the_worst_of_several(
    runner: Runner, x_times: str, w_times: str, worse: str
) -> None:
    wrong = BOTH_BACKWARD.replace("dX + at, ", f"dX + at, {x_times}(").replace(
        "dz, mask=at < n)\n    tl.store(dW + at, x * dz",
        f"dz), mask=at < n)\n    tl.store(dW + at, {w_times}x * dz",
    )
    result = runner.ask("gradcheck", both_params(wrong))["result"]
    assert result["status"] == "failed"
    assert f"gradient of {worse} is wrong" in result["reason"]
    errors = {one["name"]: one["error"] for one in result["inputs"]}
    assert max(errors, key=errors.__getitem__) == worse
    assert result["worst_error"] == errors[worse]


UNDEFINED = SQUARE.replace(", other=0.0", "").replace("x * x, mask=at < n", "x * x")


def test_what_stores_undefined_values_is_not_proved(runner: Runner) -> None:
    backward = SQUARE_BACKWARD.replace(SQUARE, UNDEFINED)
    for spec in (None, "# tad: n=11, BLOCK=4, X=f32, Y=f32, grid=(3,)"):
        params = {**gradcheck_params(backward), "source": UNDEFINED}
        params["spec"] = {**params["spec"], "text": spec}
        result = runner.ask("gradcheck", params)["result"]
        if result["status"] == "proved":  # where n is a multiple of the block
            assert all(finding["kind"] != "undefined-value" for finding in result["findings"])
            assert spec is None
        else:
            assert result["status"] == "unproved"
            assert "`other`" in result["reason"]


def test_a_configuration_reproduces_itself(runner: Runner) -> None:
    first = runner.ask("gradcheck", gradcheck_params())["result"]["configurations"][0]["text"]
    params = gradcheck_params()
    params["spec"]["text"] = first
    again = runner.ask("gradcheck", params)["result"]["configurations"][0]
    assert again["text"] == first
    assert again["source"] == "comment"


def test_pyproject_says_what_to_run(runner: Runner) -> None:
    params = gradcheck_params()
    params["spec"]["pyproject"] = {"n": 11, "BLOCK": 4, "X": "f32[n]", "Y": "f32[n]"}
    configuration = runner.ask("gradcheck", params)["result"]["configurations"][0]
    assert configuration["source"] == "pyproject"
    assert "n=11" in configuration["text"] and "grid=(3, 1, 1)" in configuration["text"]


def test_helpers_come_from_other_modules(runner: Runner) -> None:
    source = SQUARE.replace("x * x", "double(x)").replace(HEAD, f"{HEAD}from .ops import double\n")
    helper = f"{HEAD}\n@triton.jit\ndef double(x):\n    return x * x\n"
    params = gradcheck_params(SQUARE_BACKWARD.replace("x * x", "double(x)"))
    params["source"] = source
    params["modules"] = [
        {"from": "square.py", "dotted": ".ops", "path": "ops.py", "source": helper}
    ]
    assert runner.ask("gradcheck", params)["result"]["status"] == "proved"


def test_run_gives_the_buffers(runner: Runner) -> None:
    arguments = {
        "X": {"data": [1, 2, 3, 4], "dtype": "fp32"},
        "Y": {"data": [0, 0, 0, 0]},
        "n": {"int": 3},
        "BLOCK": 4,
    }
    result = runner.ask("run", run_params(SQUARE, "square", arguments))["result"]
    assert result["buffers"]["Y"] == [1, 4, 9, 0]
    assert result["findings"] == []


def test_plan_is_what_a_launch_needs(runner: Runner) -> None:
    params = gradcheck_params() | {
        "spec": {"text": "# tad: n=1000, BLOCK=256, X=f16[n], grid=(4,)"}
    }
    plan = runner.ask("plan", params)["result"]
    assert plan["grid"] == [4, 1, 1]
    by_name = {argument["name"]: argument for argument in plan["arguments"]}
    assert by_name["n"] == {"name": "n", "kind": "int", "value": 1000}
    assert by_name["BLOCK"] == {"name": "BLOCK", "kind": "constant", "value": 256}
    x, y = by_name["X"], by_name["Y"]
    assert (x["kind"], x["dtype"], x["first"], x["elements"]) == ("buffer", "float16", 0, 1000)
    assert (x["read"], x["written"], y["read"], y["written"]) == (True, False, False, True)
    timed = params["spec"]["text"] + "\n# tad time: n=3000, BLOCK=1024"
    larger = runner.ask("plan", params | {"spec": {"text": timed}})["result"]
    assert {a["name"]: a.get("value") for a in larger["arguments"]}["n"] == 3000
    # Only the first and the last program ran: that is enough to see how far the buffer reaches.
    assert y["elements"] == 1000


def test_cancel_stops_a_running_request(runner: Runner) -> None:
    params = run_params(ENDLESS, "endless", {"X": {"data": [0]}, "n": {"int": 1}})
    runner.send("run", {**params, "max_seconds": 300}, 7)
    runner.send("run", run_params(SQUARE, "nowhere", {}), "waiting")
    runner.send("cancel", {"id": "waiting"}, None)
    runner.send("cancel", {"id": 7}, None)
    answers = {answer["id"]: answer for answer in (runner.receive(), runner.receive())}
    assert answers[7]["error"]["code"] == -32800
    assert answers["waiting"]["error"]["code"] == -32800
    assert runner.ask("probe", {})["result"]["backends"][0]["name"] == "cpu"


def test_mistakes_are_answered(runner: Runner) -> None:
    assert runner.ask("fly", {})["error"]["code"] == -32601
    assert "source" in runner.ask("gradcheck", {})["error"]["message"]
    assert "no kernel" in runner.ask("run", run_params(SQUARE, "cube", {}))["error"]["message"]
    runner.write("Content-Length: 5\r\n\r\n{oops")
    assert runner.receive()["error"]["code"] == -32700
    assert "result" in runner.ask("probe", {})


def test_shutdown_ends_the_process(runner: Runner) -> None:
    assert "result" in runner.ask("shutdown", None)
    assert runner.process.wait(timeout=10) == 0


def test_a_closed_input_ends_the_process(runner: Runner) -> None:
    assert runner.process.stdin is not None
    runner.process.stdin.close()
    assert runner.process.wait(timeout=10) == 0
    broken = Runner()
    broken.write("Content-Length: many\r\n\r\n")
    assert broken.process.wait(timeout=10) == 2
    broken.process.communicate()


def test_nothing_goes_on_for_somebody_who_died(runner: Runner) -> None:
    params = run_params(ENDLESS, "endless", {"X": {"data": [0]}, "n": {"int": 1}})
    runner.send("run", {**params, "max_seconds": 300}, 7)
    runner.send("run", {**params, "max_seconds": 300}, 8)
    assert runner.process.stdin and runner.process.stdout
    runner.process.stdin.close()
    runner.process.stdout.close()
    runner.process.wait(timeout=10)


def test_one_request_from_a_file(tmp_path: Path) -> None:
    request = tmp_path / "request.json"
    request.write_text(json.dumps(gradcheck_params()))
    command = [str(BIN / "tad-runner"), "--gradcheck", str(request)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert json.loads(done.stdout)["status"] == "proved"
    for arguments in (["--gradcheck", str(tmp_path / "none.json")], ["--what"], ["a", "b", "c"]):
        wrong = [str(BIN / "tad-runner"), *arguments]
        assert subprocess.run(wrong, capture_output=True, timeout=60, check=False).returncode == 2
