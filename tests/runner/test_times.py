"""The request `time`: kernels compiled by the real Triton without PyTorch, launched against a stand-in.

It (tests/standin/launches.c) reads off each cubin which parameters it takes, and writes down what it is given."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.runner.test_cuda import GIVEN_BACK, ROWS, CudaRunner
from tests.runner.test_protocol import BIN, ROOT, gradcheck_params

HEAD = "import triton\nimport triton.language as tl\n\n"
KERNEL = f"""{HEAD}
@triton.jit
def scaled(X, Y, Optional, n, stride, one, factor, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    x = tl.load(X + at * one, mask=mask)
    if Optional is not None:
        x += tl.load(Optional + at, mask=mask)
    tl.store(Y + at * stride, x * factor, mask=mask)
"""


@pytest.fixture(scope="session")
def launches(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The library, compiled."""
    library = tmp_path_factory.mktemp("standin") / "liblaunches.so"
    source = ROOT / "tests/standin/launches.c"
    options = ["-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror", "-D_GNU_SOURCE"]
    subprocess.run(["cc", *options, "-o", library, source], check=True)
    return str(library)


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of cubins; most tests find theirs compiled."""
    return tmp_path_factory.mktemp("cache")


def variables(launches: str, cache: Path, **more: str) -> dict[str, str]:
    names = {"TAD_LIBCUDA": launches, "TAD_NVML": launches, "TAD_NVRTC": launches}
    return {**names, "XDG_CACHE_HOME": str(cache), "HOME": str(cache), **more}


@pytest.fixture
def timer(launches: str, cache: Path, tmp_path: Path) -> Iterator[CudaRunner]:
    """A worker whose launches are written to `launches.jsonl` of the test's folder."""
    log = str(tmp_path / "launches.jsonl")
    runner = CudaRunner(variables(launches, cache, STAND_IN_LOG=log))
    yield runner
    runner.end()


def buffer(name: str, elements: int = 1000, dtype: str = "float32", first: int = 0) -> dict:
    content = {"content": "normal", "low": 0, "high": 0, "read": True, "written": name == "Y"}
    return {
        "name": name,
        "key": name,
        "kind": "buffer",
        "dtype": dtype,
        "first": first,
        "elements": elements,
        **content,
    }


def parameters(**more: object) -> dict:
    """`time` of KERNEL."""
    arguments = [
        *(buffer("X"), buffer("Y")),
        {"name": "Optional", "kind": "constant", "value": None},
        {"name": "n", "kind": "int", "value": 1000},
        {"name": "stride", "kind": "int", "value": 16},
        {"name": "one", "kind": "int", "value": 1},
        {"name": "factor", "kind": "float", "value": 0.5},
        {"name": "BLOCK", "kind": "constant", "value": 256},
    ]
    plan = {"text": "# tad: n=1000", "grid": [4, 1, 1], "arguments": arguments, **more}
    return {
        "path": "k.py",
        "module": KERNEL,
        "modules": [],
        "kernel": "scaled",
        "python": [sys.executable],
        "plan": plan,
    }


def logged(tmp_path: Path) -> list[dict]:
    lines = (tmp_path / "launches.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def test_the_launch_gives_what_the_cubin_takes(timer: CudaRunner, tmp_path: Path) -> None:
    result = timer.ask("time", parameters(options={"num_warps": 8}))["result"]
    assert result["device"] == "a stand-in" and result["triton"].startswith("3.")
    assert result["forward"]["median_ms"] == 0.5 and result["forward"]["runs"] == 200
    assert result["bytes"] == 8000 and result["meters"]["clock_mhz"] == 1980
    assert result["copy_gb_s"] > 0
    (kernel,) = result["forward"]["kernels"]
    assert (kernel["warps"], kernel["registers"]) == (8, 32)
    launch = logged(tmp_path)[0]
    assert (launch["grid"], launch["block"]) == ([4, 1, 1], [256, 1, 1])
    # `one` is 1 and `Optional` is None: neither is passed. Two pointers to scratch memory follow.
    sizes = [size for size, _ in launch["parameters"]]
    assert sizes == [8, 8, 4, 4, 4, 8, 8]
    x, y, n, stride, factor, *scratch = (value for _, value in launch["parameters"])
    assert x and y and x != y and scratch == [0, 0]
    assert (n, stride, factor) == (1000, 16, 0x3F000000)


def test_contents_and_places_are_those_of_the_plan(timer: CudaRunner, tmp_path: Path) -> None:
    request = parameters()
    arguments = request["plan"]["arguments"]
    arguments[0] = {**buffer("X", 12, "float16", -3), "content": "uniform", "low": 2, "high": 3}
    arguments[1] = {**buffer("Y", 9, "int64"), "content": "monotone", "high": 5}
    request["read"] = {"X": 100, "Y": 100}
    result = timer.ask("time", request)["result"]
    assert len(result["read"]["X"]) == 9, "three of them lie in front"
    assert all(2 <= number <= 3 for number in result["read"]["X"])
    assert result["read"]["Y"] == [5 * i for i in range(9)]
    assert logged(tmp_path)[0]["parameters"][0][1] % 16 == 6


def test_rows_of_a_large_tensor_differ(timer: CudaRunner) -> None:
    """Else a product of such rows would cost less power, and take less time, than one of numbers of its own."""
    request = parameters()
    rows, length = 256, 4096
    arguments = request["plan"]["arguments"]
    arguments[0] = buffer("X", rows * length + 16, "float16", -rows * length)
    arguments[1] = buffer("Y", 16, "float16")
    request["read"] = {"X": 16, "Y": 16}
    read = timer.ask("time", request)["result"]["read"]
    assert len(read["X"]) == len(read["Y"]) == 16
    assert read["X"] != read["Y"] and all(abs(number) <= 1 for number in read["X"])


@pytest.mark.parametrize(
    ("options", "grid", "attributes"),
    [
        ({"num_ctas": 2}, [8, 1, 1], [[4, 2, 1, 1], [5, 1, 0, 0]]),
        ({"launch_cooperative_grid": True}, [4, 1, 1], [[2, 1, 0, 0]]),
        ({"launch_pdl": True}, [4, 1, 1], [[6, 1, 0, 0]]),
    ],
)
def test_launches_of_other_kinds(
    options: dict, grid: list, attributes: list, timer: CudaRunner, tmp_path: Path
) -> None:
    """Numbers of the attributes: the driver's header."""
    assert "result" in timer.ask("time", parameters(options=options))
    launch = logged(tmp_path)[0]
    assert (launch["grid"], launch["attributes"]) == (grid, attributes)


def test_the_backward_of_a_plan(timer: CudaRunner, tmp_path: Path) -> None:
    params = gradcheck_params()
    params["spec"] = {"text": "# tad: n=1000, BLOCK=256, X=f16[n], grid=(4,), num_warps=2"}
    plan = timer.ask("plan", params)["result"]
    assert plan["options"] == {"num_warps": 2} and plan["operations"] > 0
    (launch,) = plan["launches"]
    by_name = {argument["name"]: argument for argument in launch["arguments"]}
    assert by_name["dX"]["key"] == "gradient X" and by_name["dX"]["content"] == "zero"
    assert by_name["dY"]["key"] == "upstream Y" and by_name["dY"]["content"] == "normal"
    assert by_name["X"]["key"] == "X" and by_name["dX"]["elements"] == 1000
    module = params["source"] + params["backward"]["source"].replace(HEAD, "")
    request = {**params, "module": module, "plan": plan, "python": [sys.executable]}
    result = timer.ask("time", request)["result"]
    assert result["backward"]["median_ms"] == 0.5
    forward, backward = logged(tmp_path)[0], logged(tmp_path)[-1]
    assert backward["kernel"] == "square_backward"
    assert forward["parameters"][0] in backward["parameters"], "X is one tensor"


def test_a_second_compile_is_none(timer: CudaRunner, launches: str, tmp_path: Path) -> None:
    first = CudaRunner(variables(launches, tmp_path / "fresh"))
    try:
        answers = [first.ask("time", parameters())["result"] for _ in range(2)]
    finally:
        first.end()
    compiled = [answer["forward"]["kernels"][0]["was_compiled"] for answer in answers]
    assert compiled == [True, False]
    assert len(list((tmp_path / "fresh/tad-lsp/cubins").iterdir())) == 1


def test_launches_alone_are_made_once_and_read(timer: CudaRunner, tmp_path: Path) -> None:
    """For whoever holds what they compute against something else (bench/gpu/releases.py)."""
    request = {**parameters(), "read": {"X": 4, "Y": 4}}
    before = timer.ask("time", {**request, "launches": 0})["result"]
    assert not (tmp_path / "launches.jsonl").exists()
    after = timer.ask("time", {**request, "launches": 1})["result"]
    assert [row["kernel"] for row in logged(tmp_path)] == ["scaled"]
    assert before["read"] == after["read"] and len(after["read"]["X"]) == 4
    assert "forward" not in after and after["plan"]["grid"] == [4, 1, 1]


EVIL = """
import os
import torch
os.environ["HOME"]
SIDE = open("{file}", "w").write("run")
LOG2E = tl.constexpr(1.5)
from .helpers import twice, open

@triton.autotune(configs=[open("{file}", "w")], key=[])
@triton.heuristics({{"BLOCK": lambda meta: 3}})
@triton.jit
def scaled(X, Y, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(Y + at, twice(tl.load(X + at)) * LOG2E)
"""


def test_only_kernels_and_constants_of_a_text_are_run(timer: CudaRunner, tmp_path: Path) -> None:
    file = tmp_path / "side"
    helper = f"{HEAD}open('{file}', 'w')\n\n@triton.jit\ndef twice(x):\n    return 2 * x\n"
    request = parameters()
    request["module"] = HEAD + EVIL.format(file=file)
    request["modules"] = [
        {"from": "k.py", "dotted": ".helpers", "path": "helpers.py", "source": helper}
    ]
    assert "result" in timer.ask("time", request)
    assert not file.exists()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"module": KERNEL.replace("mask=mask)", "mask=mask", 1)}, "line 9 of the text"),
        ({"module": KERNEL.replace("x * factor", "x * missing")}, "missing"),
        ({"module": KERNEL.replace("x * factor", "tl.dot(x, x)")}, "line 12 of the text"),
        ({"kernel": "nobody"}, "no kernel `nobody`"),
        ({"module": ""}, "no kernel `scaled`"),
        ({"plan": None}, "needs `plan`"),
        ({"python": ["/nowhere/python"]}, "the Python that compiles: it ended"),
        ({"python": ["sleep", "60"], "max_seconds": 0.5}, "the Python that compiles"),
        ({"python": ["yes"], "max_seconds": 5}, "the Python that compiles"),
    ],
)
def test_what_does_not_compile_is_said(change: dict, words: str, timer: CudaRunner) -> None:
    message = timer.ask("time", {**parameters(), **change})["error"]["message"]
    assert words in message
    assert "result" in timer.ask("time", parameters()), "the worker compiles on"


def test_too_large_a_grid(timer: CudaRunner) -> None:
    message = timer.ask("time", parameters(grid=[1, 70000, 1]))["error"]["message"]
    assert "70000 programs along axis 1" in message


PRODUCT = f"""{HEAD}
@triton.jit
def product(X, W, Y, SIZE: tl.constexpr):
    i = tl.arange(0, SIZE)
    at = i[:, None] * SIZE + i[None, :]
    tl.store(Y + at, tl.dot(tl.load(X + at), tl.load(W + at)))
"""


@pytest.mark.parametrize(
    ("hidden", "device", "room"),
    [(None, 0, 232448), (None, 1, 49152), ("1", 0, 49152), ("1,0", 1, 232448)],
)
def test_each_gpu_has_shared_memory_of_its_own(
    hidden: str | None, device: int, room: int, launches: str, cache: Path, tmp_path: Path
) -> None:
    """A product of 128 x 128 halves holds two tiles of 32 KiB."""
    names = {"STAND_IN_SHARED": "232448,49152", "STAND_IN_LOG": str(tmp_path / "launches.jsonl")}
    names |= {} if hidden is None else {"CUDA_VISIBLE_DEVICES": hidden}
    tensors = [buffer(name, 128 * 128, "float16") for name in ("X", "W", "Y")]
    plan = {
        "grid": [1, 1, 1],
        "arguments": [*tensors, {"name": "SIZE", "kind": "constant", "value": 128}],
    }
    request = {
        **parameters(),
        "module": PRODUCT,
        "kernel": "product",
        "plan": plan,
        "device": device,
    }
    runner = CudaRunner(variables(launches, cache, **names))
    try:
        answer = runner.ask("time", request)
    finally:
        runner.end()
    if room < 65536:
        assert (
            "takes 65536 bytes of shared memory, and this GPU has 49152"
            in answer["error"]["message"]
        )
    else:
        assert answer["result"]["forward"]["kernels"][0]["shared_bytes"] == 65536
        assert logged(tmp_path)[0]["allowed"] == room


FUNCTIONS = [
    name
    for file in ("cuda/driver.def", "triton/calls.def")
    for name in ROWS.findall((ROOT / "gpu-runner" / file).read_text(encoding="utf-8"))
]
# Asked only where something has gone wrong, or not at all here.
UNASKED = {"cuGetErrorName", "cuLaunchKernel", "cuMemcpyDtoH_v2", *GIVEN_BACK}
# Without them there are times all the same.
COURTESY = {
    "cuFuncGetAttribute",
    "cuOccupancyMaxActiveBlocksPerMultiprocessor",
    "cuDeviceGetPCIBusId",
    "cuEventDestroy_v2",
}
# Where more shared memory is wanted, or blocks in clusters of more than eight.
RARE = {"cuFuncSetAttribute", "cuFuncSetCacheConfig"}


@pytest.mark.parametrize("function", FUNCTIONS)
def test_each_call_may_fail(function: str, launches: str, cache: Path) -> None:
    runner = CudaRunner(variables(launches, cache, STAND_IN_FAIL=f"{function}:700"))
    request = parameters()
    if function in RARE:
        request["plan"]["options"] = {"num_ctas": 16}
    if function == "cuMemcpyDtoDAsync_v2":  # fills what is larger than one copy
        request["plan"]["arguments"][0] = buffer("X", 1 << 21)
    try:
        answer = runner.ask("time", request)
        assert "result" in runner.ask("probe", {}), "it lives on"
    finally:
        runner.end()
    if function in UNASKED | COURTESY or function == "cuFuncSetCacheConfig":
        assert "result" in answer
    else:
        assert "700" in answer["error"]["message"]


@pytest.mark.parametrize("first", [2, 3, 40])
@pytest.mark.parametrize("function", ["cuMemAlloc_v2", "cuEventRecord", "cuLaunchKernelEx"])
def test_a_later_call_may_fail(function: str, first: int, launches: str, cache: Path) -> None:
    failure = f"{function}:2:{first}"
    runner = CudaRunner(variables(launches, cache, STAND_IN_FAIL=failure))
    try:
        answer = runner.ask("time", parameters())
    finally:
        runner.end()
    # The fourth and fifth allocation are for the copy, whose rate is a courtesy.
    assert "result" in answer or "no memory left" in answer["error"]["message"]
    assert "result" not in answer or function == "cuMemAlloc_v2"


def test_from_the_command_line(launches: str, cache: Path, tmp_path: Path) -> None:
    """This Python has Triton and no PyTorch."""
    file = tmp_path / "softmax.py"
    text = (ROOT / "examples/softmax.py").read_text(encoding="utf-8")
    line = "# tad time: n_cols=1024, BLOCK=1024, in_stride=n_cols, out_stride=n_cols, "
    tensors = "in_ptr=f32[512, n_cols], out_ptr=f32[512, n_cols], grid=(512,), num_warps=2\n"
    file.write_text(text.replace("@triton.jit\n", line + tensors + "@triton.jit\n", 1))
    command = [str(BIN / "tad-lsp"), "--time", f"{file}:softmax_kernel", "--python", sys.executable]
    environment = {**os.environ, **variables(launches, cache)}
    run = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr
    assert "a stand-in, Triton 3." in run.stdout
    assert "fwd 0.5 ms (8 GB/s, 1 % of a copy's), bwd 0.5 ms, 1.0x fwd" in run.stdout
    assert "grid=(512, 1, 1), num_warps=2" in run.stdout
    assert "0.5000 ms (0.5000 to 0.5000, 200 runs), 2 warps, 32 registers" in run.stdout
    # 8 blocks of 64 threads on a processor of 2048; 512 blocks on 4 processors.
    assert ", occupancy 25 % at most, 16 waves" in run.stdout
    assert "under this load: 1980 MHz" in run.stdout
    command += ["--format", "json"]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    (result,) = json.loads(run.stdout)["kernels"]
    assert result["kernel"] == "softmax_kernel" and result["forward"]["runs"] == 200
    assert [kernel["kernel"] for kernel in result["backward"]["kernels"]]
    (kernel,) = result["forward"]["kernels"]
    assert (kernel["blocks_per_processor"], kernel["occupancy"], kernel["waves"]) == (8, 0.25, 16)
    run = subprocess.run([*command[:-1], "sarif"], env=environment, capture_output=True, text=True)
    assert run.returncode == 2 and "--time has the formats full and json" in run.stderr


def test_both_ways_are_told_where_neither_works(cache: Path) -> None:
    command = [str(BIN / "tad-lsp"), "--time", str(ROOT / "examples/softmax.py")]
    environment = {**os.environ, **variables("/nowhere.so", cache)}
    run = subprocess.run(
        [*command, "--python", sys.executable], env=environment, capture_output=True, text=True
    )
    assert run.returncode == 2
    assert "TAD_LIBCUDA names no library" in run.stderr
    assert "and with PyTorch:" in run.stderr and "No module named 'torch'" in run.stderr


def test_the_rate_of_a_matrix_product_is_measured_once(launches: str, tmp_path: Path) -> None:
    """Of kernels with products alone, and not for trials of a search."""
    log = tmp_path / "launches.jsonl"
    environment = variables(launches, tmp_path / "fresh", STAND_IN_LOG=str(log))

    def ask(dots: int, **more: str) -> float | None:
        runner = CudaRunner(environment)
        try:
            answer = runner.ask("time", {**parameters(dot_operations=dots), **more})["result"]
        finally:
            runner.end()
        return answer.get("matrix_tflop_s")

    assert ask(0) is None
    assert ask(4096, check="keep") is None
    assert {launch["kernel"] for launch in logged(tmp_path)} == {"scaled"}
    rate = ask(4096)
    assert rate == pytest.approx(2 * 8192**3 / 0.5e-3 / 1e12)
    products = [launch for launch in logged(tmp_path) if launch["kernel"] == "product"]
    assert {launch["grid"][0] for launch in products} == {64 * 32, 64 * 64}
    log.unlink()
    assert ask(4096) == rate
    assert {launch["kernel"] for launch in logged(tmp_path)} == {"scaled"}, "it was kept"


COPIED = f"""{HEAD}
@triton.jit
def copied(From, To, n, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    at = [tl.program_id(0) * ROWS, 0]
    To.store(at, From.load(at) * n)
"""


def copied(**more: object) -> dict:
    """`time` of a kernel that is given two descriptors: 64 x 48 halves of rows of 80."""
    descriptor = {"shape": [64, 48], "strides": [80, 1], "block": [16, 32]}
    arguments = [
        {**buffer(name, 64 * 80, "float16"), **descriptor, "written": name == "To", **more}
        for name in ("From", "To")
    ]
    numbers = {"n": 3, "ROWS": 16, "COLUMNS": 32}
    arguments += [
        {"name": name, "kind": "int" if name == "n" else "constant", "value": value}
        for name, value in numbers.items()
    ]
    asked = parameters(arguments=arguments)
    return {**asked, "module": COPIED, "kernel": "copied"}


def test_descriptors_of_the_launcher_are_made(timer: CudaRunner, tmp_path: Path) -> None:
    """As Triton's launcher makes them: a map of 128 bytes, the sizes and strides behind it."""
    answer = timer.ask("time", copied())
    assert "result" in answer, answer
    given = logged(tmp_path)[0]["parameters"]
    maps = [at for at, (size, *_) in enumerate(given) if size == 128]
    assert maps == [0, 5]
    for at in maps:
        size, address, element, axes, columns, rows, step, *block, swizzle = given[at]
        assert (address % 256, element, axes) == (0, 6, 2)  # CU_TENSOR_MAP_DATA_TYPE_FLOAT16
        assert (columns, rows, step, block) == (48, 64, 160, [32, 16])
        assert swizzle in range(4)
        assert given[at + 1 : at + 5] == [[4, 64], [4, 48], [8, 80], [8, 1]]
    assert given[10] == [4, 3]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"strides": [81, 1]}, "strides must be 16-byte aligned"),
        ({"shape": [64]}, "Triton refuses the text"),
        ({"first": -1}, "16-byte aligned"),
    ],
)
def test_descriptors_that_triton_refuses(timer: CudaRunner, more: dict, said: str) -> None:
    """Each is a sentence, and the worker goes on."""
    answer = timer.ask("time", copied(**more))
    assert said in json.dumps(answer), answer
    assert "result" in timer.ask("time", copied())


def test_a_descriptor_that_the_driver_refuses(launches: str, cache: Path) -> None:
    variable = variables(launches, cache, STAND_IN_FAIL="cuTensorMapEncodeTiled:1")
    runner = CudaRunner(variable)
    answer = runner.ask("time", copied())
    runner.end()
    assert "making the tensor descriptor `From`" in json.dumps(answer), answer


TUPLES = f"""{HEAD}
@triton.jit
def moved(X, Y, sizes, nested, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < sizes[0] * nested[0]
    tl.store(Y + at * sizes[1], tl.load(X + at * nested[1][0], mask=mask) * nested[1][1], mask=mask)
"""


def test_numbers_of_tuples_are_passed(timer: CudaRunner, tmp_path: Path) -> None:
    """One by one, without those that the kernel has as constants (a step of 1)."""
    numbers = [{"value": value} for value in (500, 1)]
    inner = {"items": [{"value": 3}, {"value": 0.5, "is_float": True}]}
    arguments = [
        *(buffer("X", 4000), buffer("Y")),
        {"name": "sizes", "kind": "constant", "items": numbers},
        {"name": "nested", "kind": "constant", "items": [{"value": 2}, inner]},
        {"name": "BLOCK", "kind": "constant", "value": 256},
    ]
    asked = {**parameters(arguments=arguments), "module": TUPLES, "kernel": "moved"}
    answer = timer.ask("time", asked)
    assert "result" in answer, answer
    given = [value for _, value in logged(tmp_path)[0]["parameters"]]
    assert given[2:6] == [500, 2, 3, 0x3F000000]
