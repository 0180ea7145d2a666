"""Kernels by the backend `cuda`: their text is compiled and run by a stand-in for the GPU, and by NVIDIA's compiler."""

from __future__ import annotations

import importlib.util
import math
import random
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.emitted.plan import ROOT, derived
from tests.runner.test_cuda import CudaRunner, both, stand_in
from tests.runner.test_protocol import HEAD, Runner

__all__ = ["stand_in"]

# Of each: no function whose last bit is a library's, and one writer an element.
KERNELS = {
    "arithmetic": """
def k(X, Y, N, Out, M, n, scale, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(X + at, mask=at < n, other=2.0)
    y = tl.load(Y + at, mask=at < n)
    i = tl.load(N + at, mask=at < n, other=-7)
    z = tl.where(x > y, x / (y * y + 1), tl.maximum(x, -y)) * scale + tl.sqrt(tl.abs(y)) - (i // 3) % 5
    j = (i << 2) ^ (i >> 1) | (at & 6)
    tl.store(Out + at, tl.floor(z * 8) + z.to(tl.int32) + tl.clamp(x, -0.5, 0.5), mask=at < n)
    tl.store(M + at, j * -i + (x < y) + tl.minimum(i, at) + (not (i == 3)), mask=at < n)
""",
    "rows": """
def k(X, Y, N, Out, M, n, scale, BLOCK: tl.constexpr):
    r = tl.arange(0, 8)
    c = tl.arange(0, BLOCK)
    x = tl.load(X + r[:, None] * BLOCK + c[None, :])
    i = tl.load(N + r[:, None] * BLOCK + c[None, :])
    top, where = tl.max(x, axis=1, return_indices=True)
    tl.store(Out + r, tl.sum(x, axis=1) + top + tl.sum(tl.sum(x, axis=0) * c))
    tl.store(Out + 8 + c, tl.cumsum(tl.min(x, axis=0), axis=0))
    tl.store(Out + 8 + BLOCK + c, tl.sum(tl.sort(tl.trans(x), descending=True) * r[None, :], axis=1))
    tl.store(M + r, tl.sum(i, axis=1) + where + tl.argmin(i, axis=1))
    tl.store(M + 8 + c, tl.xor_sum(i, axis=0) + tl.cumprod(tl.max(i, axis=0) % 3 + 1, axis=0))
""",
    "products": """
def k(X, Y, N, Out, M, n, scale, BLOCK: tl.constexpr):
    r = tl.arange(0, 16)
    acc = tl.zeros((16, 16), dtype=tl.float32)
    best = -float("inf")
    turns = 0
    for start in range(0, n, 16):
        a = tl.load(X + r[:, None] * 4 + r[None, :] + start % 7)
        b = tl.load(Y + r[:, None] + r[None, :] * 3)
        acc = tl.dot(a, b, acc) * scale
        best = tl.maximum(best, tl.max(acc))
        turns += 1
    while best > 1.0:
        best = best / 2
        turns += 2
    if turns > 5:
        acc = acc + best
    else:
        acc = tl.trans(acc)
    tl.store(Out + r[:, None] * 16 + r[None, :], acc)
    tl.store(M + tl.program_id(0), turns)
""",
    "movements": """
def k(X, Y, N, Out, M, n, scale, BLOCK: tl.constexpr):
    r = tl.arange(0, 16)
    a = tl.load(X + r)
    b = tl.load(Y + r)
    both = tl.join(a, b)
    left, right = tl.split(tl.reshape(tl.interleave(a, b), (16, 2)))
    picked = tl.gather(tl.reshape(both, (4, 8)), tl.reshape(tl.load(N + r) & 3, (4, 4)), axis=0)
    tl.store(Out + tl.arange(0, 32), tl.reshape(both, (32,)) - tl.cat(left, right, can_reorder=True))
    tl.store(Out + 32 + r, tl.reshape(tl.permute(picked, (1, 0)), (16,)) + tl.flip(a, 0))
    tl.store(M + tl.arange(0, 8), tl.histogram(tl.load(N + r) & 7, 8))
""",
    "programs": """
def k(X, Y, N, Out, M, n, scale, BLOCK: tl.constexpr):
    p = tl.program_id(0) * tl.num_programs(1) + tl.program_id(1)
    at = p * BLOCK + tl.arange(0, BLOCK)
    i = tl.load(N + at, mask=at < n, other=0)
    tl.atomic_add(M + (i & 7), i)
    tl.atomic_max(M + 8 + (i & 3), i, mask=at < n)
    tl.atomic_min(M + 12, tl.sum(i))
    tl.atomic_max(Out, tl.max(tl.load(X + at, mask=at < n, other=0.0)))
    if p % 2 == 0:
        tl.store(Out + 1 + p, tl.load(Y + p) + p)
""",
    "random": """
def k(X, Y, N, Out, M, n, scale, BLOCK: tl.constexpr):
    r = tl.arange(0, 32)
    at = r + tl.program_id(0) * 32
    i = tl.load(N + r)
    seed = tl.load(N + 100)
    tl.store(Out + at, tl.rand(seed, at))
    tl.store(Out + 64 + at, tl.randn(n, i.to(tl.int64) << 33))
    a, b, c, d = tl.randint4x(seed, at, 7)
    tl.store(M + at, (a ^ b ^ c ^ d).to(tl.int32))
    tl.store(M + 64 + at, tl.randint(3, at).to(tl.int32))
    e, f, g, h = tl.randn4x(seed.to(tl.int64), i)
    tl.store(Out + 128 + at, e + f - g * h)
    p, q, s, t = tl.philox(n, i.to(tl.uint64), at.to(tl.uint64), i.to(tl.uint64), i.to(tl.uint64))
    tl.store(M + 128 + at, ((p ^ q ^ s ^ t) >> 32).to(tl.int32))
    tl.store(Out + 192 + tl.program_id(0), tl.rand(seed, n + tl.program_id(0)))
    tl.store(Out + 200 + at, tl.uint_to_uniform_float(i.to(tl.uint32, bitcast=True)))
""",
    "given back": """
def k(X, Y, N, Out, M, n, scale, BLOCK: tl.constexpr):
    r = tl.arange(0, 32)
    ticket = tl.atomic_add(M, 3)
    p = tl.program_id(0) * 2 + tl.program_id(1)
    tl.store(M + 8 + p, ticket)
    old = tl.atomic_max(M + 32 + r % 5, tl.load(N + r), mask=r < 30)
    tl.store(M + 64 + r + p * 32, old)
    tl.store(Out + p, tl.atomic_xchg(Out + 100, tl.load(X + p)))
    tl.store(M + 300 + p, tl.atomic_cas(M + 299, p, p + 1))
    sums = tl.atomic_add(Out + 200 + r % 4, tl.load(X + r))
    tl.store(Out + 300 + r, sums)
""",
    "bits": """
def k(X, Y, N, Out, M, n, scale, BLOCK: tl.constexpr):
    r = tl.arange(0, 32)
    x = tl.load(X + r)
    i = tl.load(N + r)
    tl.store(M + r, x.to(tl.int32, bitcast=True) ^ i)
    tl.store(Out + r, (i & 0xFFFF | 0x3F800000).to(tl.float32, bitcast=True))
    tl.store(M + 32 + r, tl.umulhi(i, i * 77777777))
    tl.store(M + 64 + r, (tl.umulhi(i.to(tl.int64) << 40, i.to(tl.int64) << 39) >> 3).to(tl.int32))
    tl.store(M + 96 + r, (x.to(tl.float64).to(tl.int64, bitcast=True) >> 30).to(tl.int32))
""",
    "small bits": """
def k(X, Y, N, Out, M, n, scale, BLOCK: tl.constexpr):
    r = tl.arange(0, 32)
    x = tl.load(X + r) * tl.exp2(tl.load(N + r) % 24 - 12.0)
    i = tl.load(N + r)
    half = x.to(tl.float16)
    tl.store(M + r, half.to(tl.int16, bitcast=True))
    tl.store(M + 32 + r, x.to(tl.bfloat16).to(tl.uint16, bitcast=True))
    tl.store(M + 64 + r, x.to(tl.float8e4nv).to(tl.int8, bitcast=True))
    tl.store(M + 96 + r, x.to(tl.float8e5).to(tl.uint8, bitcast=True))
    tl.store(Out + r, (i * 300).to(tl.int16).to(tl.float16, bitcast=True))
    tl.store(Out + 32 + r, (i * 77).to(tl.uint16).to(tl.bfloat16, bitcast=True))
    tl.store(Out + 64 + r, i.to(tl.uint8).to(tl.float8e5, bitcast=True))
    tl.store(Out + 96 + r, (i.to(tl.uint8) & 0x77).to(tl.float8e4nv, bitcast=True))
    tl.store(Out + 128 + r, half.to(tl.bfloat16, bitcast=True))
""",
    "whole numbers": """
def k(X, Y, N, Out, M, n, scale, BLOCK: tl.constexpr):
    r = tl.arange(0, 32)
    i = tl.load(N + r)
    wide = i.to(tl.int64) << 33
    tl.store(M + r, libdevice.popc(i) + libdevice.clz(i) * 100 + libdevice.ffs(i) * 10000)
    tl.store(M + 32 + r, libdevice.brev(i) ^ libdevice.mul24(i, i * 1000003))
    tl.store(M + 64 + r, libdevice.hadd(i, r) + libdevice.rhadd(i, r) * 3 + libdevice.sad(i, r, i))
    tl.store(M + 96 + r, libdevice.popc(wide) + libdevice.clz(wide) * 100 + libdevice.ffs(wide) * 7)
    u = (i & 255).to(tl.uint64) << 56
    tl.store(M + 128 + r, (tl.clamp(u, u >> 1, u << 1) >> 50).to(tl.int32))
    one = tl.load(N + tl.arange(0, 1))
    tl.store(M + 160 + tl.arange(0, 1), tl.sort(one) + tl.reduce(one, 0, largest))
    tl.store(M + 161 + tl.arange(0, 1), tl.associative_scan(one, 0, largest))
    tl.store(M + 162 + tl.arange(0, 1), tl.topk(i, 1))
    tl.device_assert(i > 1000, "never", mask=i > 1000)
""",
    "small atomics": """
def k(X, Y, N, Out, M, n, scale, BLOCK: tl.constexpr):
    r = tl.arange(0, 32)
    i = tl.load(N + r)
    tl.atomic_add(M + (r & 3), i.to(M.dtype.element_ty))
    tl.atomic_max(M + 8 + (r & 1), i.to(M.dtype.element_ty))
    tl.atomic_xor(M + 12, tl.sum(i).to(M.dtype.element_ty))
""",
    "gathers": """
def k(X, Y, N, Out, M, n, scale, BLOCK: tl.constexpr):
    rows = tl.load(N + tl.arange(0, 8)) % 14
    d = tl.make_tensor_descriptor(X, [12, 30], [32, 1], [1, 16])
    o = tl.make_tensor_descriptor(Out, [12, 30], [32, 1], [1, 16])
    s = tl.make_tensor_descriptor(Out + 400, [3, 30], [32, 1], [2, 16])
    got = d.gather(rows, 20)
    o.scatter(got * 2, tl.arange(0, 8) * 2, 8)
    s.atomic_add([1, 16], tl.reshape(tl.sum(got, axis=0), (1, 16)) + tl.zeros((2, 16), tl.float32))
""",
    "combined": """
def k(X, Y, N, Out, M, n, scale, BLOCK: tl.constexpr):
    r = tl.arange(0, 8)
    c = tl.arange(0, BLOCK)
    x = tl.load(X + r[:, None] * BLOCK + c[None, :])
    y = tl.load(Y + r[:, None] * BLOCK + c[None, :])
    a, b = tl.associative_scan((x, y), 1, linear, reverse=True)
    tl.store(Out + r[:, None] * BLOCK + c[None, :], a - b)
    tl.store(Out + 8 * BLOCK + r, tl.reduce(x, 1, further))
""",
    "blocks": """
def k(X, Y, N, Out, M, n, scale, BLOCK: tl.constexpr):
    p = tl.make_block_ptr(X, (5, 30), (32, 1), (0, 0), (8, 16), (1, 0))
    q = tl.make_block_ptr(Out, (7, 32), (32, 1), (0, 0), (8, 16), (1, 0))
    total = tl.zeros((8, 16), dtype=tl.float32)
    for step in range(0, 2):
        x = tl.load(p, boundary_check=(0, 1), padding_option="zero")
        total += x
        tl.store(q, total * x, boundary_check=(0, 1))
        p = tl.advance(p, (0, 16))
        q = tl.advance(q, (0, 16))
    d = tl.make_tensor_descriptor(Y, [6, 20], [32, 1], [8, 16])
    o = tl.make_tensor_descriptor(Out + 240, [6, 20], [32, 1], [8, 16])
    o.store([1, 8], d.load([0, 8]) + 1)
""",
}
LIBRARY = "from triton.language.extra import libdevice\n"
HELPERS = """
@triton.jit
def linear(a, b, c, d):
    return a * c, b * c + d

@triton.jit
def largest(a, b):
    return tl.maximum(a, b)

@triton.jit
def further(a, b):
    return tl.where(tl.abs(a) > tl.abs(b), a, b)

@triton.jit"""


def parameters(name: str, body: str | None = None, **more: object) -> dict:
    """A run of one of the kernels on 512 elements of each tensor."""
    source = HEAD + LIBRARY + HELPERS + (body or KERNELS[name])
    dice = random.Random(name)
    arguments = {
        "X": {"data": [dice.uniform(-2, 2) for _ in range(512)], "dtype": "fp32"},
        "Y": {"data": [dice.uniform(-2, 2) for _ in range(512)], "dtype": "fp32"},
        "N": {"data": [dice.randrange(-100, 100) for _ in range(512)], "dtype": "int32"},
        "Out": {"data": [0.0] * 512, "dtype": "fp32"},
        "M": {"data": [0] * 512, "dtype": "int32"},
        "n": {"int": 100},
        "scale": {"float": 0.37},
        "BLOCK": {"value": 32},
        **more,
    }
    return {"path": "k.py", "source": source, "kernel": "k", "arguments": arguments, "grid": [2, 2]}


@pytest.fixture(scope="module")
def cpu() -> Iterator[Runner]:
    started = Runner()
    yield started
    started.end()


@pytest.fixture(scope="module", params=["1", "3"])
def cuda(request: pytest.FixtureRequest, stand_in: str) -> Iterator[Runner]:
    """A worker whose GPU has blocks of so many threads."""
    started = CudaRunner(both(stand_in, STAND_IN_THREADS=request.param))
    yield started
    started.end()


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "uint32", "int64"])
def test_updates_of_integers_wrap(dtype: str, cpu: Runner, cuda: Runner) -> None:
    given = parameters("small atomics")
    given["arguments"]["M"]["dtype"] = dtype
    wanted, got = (runner.ask("run", given)["result"] for runner in (cpu, cuda))
    assert (got["cuda"]["launches"], got["cuda"].get("refused")) == (1, None)
    assert got["buffers"] == wanted["buffers"]


@pytest.mark.sampled(0.35)
@pytest.mark.parametrize("name", KERNELS)
def test_bit_by_bit_as_the_interpreter(name: str, cpu: Runner, cuda: Runner) -> None:
    wanted = cpu.ask("run", parameters(name))["result"]
    got = cuda.ask("run", parameters(name))["result"]
    assert (got["cuda"]["launches"], got["cuda"]["backward_launches"]) == (1, 0), got["cuda"]
    assert any(got["buffers"]["Out"]) or any(got["buffers"]["M"])
    assert got["buffers"] == wanted["buffers"]


# Each type's rounding: of arithmetic, sums, scans, products, casts, stores and atomics.
ROUNDED = """
def k(X, Y, N, Out, M, n, scale, BLOCK: tl.constexpr):
    r = tl.arange(0, 16)
    a = tl.load(X + r[:, None] * 16 + r[None, :])
    b = tl.load(Y + r[:, None] * 16 + r[None, :])
    c = tl.dot(a, b) + 0.1
    d = tl.dot(a, b, input_precision="ieee")
    h = (a * scale + b / 3).to(tl.TYPE)
    s = tl.sum(h * h - 0.3, axis=1)
    t = tl.cumsum(h.to(tl.float32), axis=0) * 1e-3
    u = tl.where(h > 0.2, h * 1e3, h / 7) - tl.load(N + r)[None, :]
    tl.store(Out + r[:, None] * 16 + r[None, :], c + t)
    tl.store(Out + 256 + r, s)
    tl.atomic_add(Out + 272 + r % 4, tl.sum((u * u).to(tl.float32), axis=0), mask=r < 1)
    tl.store(Out + 280 + r, tl.max(u, axis=1))
    tl.store(M + r, (tl.sum(d, axis=1) * 4096).to(tl.int32))
"""


TYPED = [
    *(
        (name, dtype)
        for name in ("float16", "bfloat16", "float8e4nv")
        for dtype in ("fp32", "bf16")
    ),
    *(
        (name, "fp32")
        for name in ("arithmetic", "rows", "products", "programs", "combined", "small bits")
    ),
]


@pytest.mark.sampled(0.35)
@pytest.mark.parametrize(("name", "dtype"), TYPED)
def test_numbers_of_their_own_types(name: str, dtype: str, cpu: Runner, cuda: Runner) -> None:
    given = parameters(name, None if name in KERNELS else ROUNDED.replace("TYPE", name))
    for key in ("X", "Y", "Out"):
        given["arguments"][key]["dtype"] = dtype
    wanted = cpu.ask("run", {**given, "own_types": True})["result"]
    got = cuda.ask("run", {**given, "own_types": True})["result"]
    assert (got["cuda"]["launches"], got["cuda"].get("refused")) == (1, None)
    assert got["buffers"] == wanted["buffers"]
    exact = cpu.ask("run", given)["result"]["buffers"]
    if name not in KERNELS:
        assert exact != wanted["buffers"], "rounding is seen"


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (
            "    total = 0.0\n    for at in tl.static_range(500):\n        total += tl.load(X + at)\n"
            "    tl.store(Out, total)",
            "the cuda backend does not run a kernel that is ",
        ),
        (
            "    tl.store(Out + 600, 1.0)",
            "line 20 of program 0 leaves the elements that were copied (lane 0, element 600)",
        ),
        ("    tl.store(M, n // (n - 100))", "divides by zero on the GPU"),
    ],
)
def test_what_it_does_not_run_the_interpreter_does(
    body: str, words: str, cpu: Runner, cuda: Runner
) -> None:
    kernel = f"\ndef k(X, Y, N, Out, M, n, scale, BLOCK: tl.constexpr):\n{body}\n"
    wanted = cpu.ask("run", parameters("none", kernel))
    got = cuda.ask("run", parameters("none", kernel))
    assert got.get("error") == wanted.get("error")
    if "error" in wanted:
        return
    assert got["result"]["cuda"]["launches"] == 0
    assert words in got["result"]["cuda"]["refused"]
    for part in ("buffers", "findings", "steps"):
        assert got["result"][part] == wanted["result"][part]


def test_a_long_text_is_compiled_where_there_is_time(cpu: Runner, cuda: Runner) -> None:
    kernel = """
def k(X, Y, N, Out, M, n, scale, BLOCK: tl.constexpr):
    r = tl.arange(0, 32)
    total = tl.zeros((32,), tl.float32)
    for at in tl.static_range(200):
        total = total * tl.load(X + r + at, mask=r < n, other=0.5) + tl.load(Y + r + at)
    tl.store(Out + r, total)
"""
    given = parameters("long", kernel)
    wanted = cpu.ask("run", given)["result"]["buffers"]
    little, much = (cuda.ask("run", {**given, "max_seconds": s})["result"] for s in (4, 100))
    assert little["buffers"] == much["buffers"] == wanted
    assert little["cuda"]["launches"] == 0
    assert re.search(
        "a kernel of [0-9]{5,6} characters of text takes too long to compile with the time that is left",
        little["cuda"]["refused"],
    )
    assert (much["cuda"]["launches"], much["cuda"].get("refused")) == (1, None)


EXAMPLES = (
    *("activations", "attention", "cross_entropy", "cumsum", "dropout", "embedding", "layer_norm"),
    *("softmax", "state_space"),
)


@pytest.mark.parametrize("example", EXAMPLES)
def test_verdicts_are_those_of_the_interpreter(example: str, cpu: Runner, cuda: Runner) -> None:
    for name, proof in derived(ROOT / f"examples/{example}.py")[1].items():
        wanted = cpu.ask("gradcheck", {**proof, "max_seconds": 60})["result"]
        got = cuda.ask("gradcheck", {**proof, "max_seconds": 60})["result"]
        for part in ("status", "reason", "covered", "steps", "own_types", "findings"):
            assert got[part] == wanted[part], (name, part)
        assert math.isclose(got["worst_error"], wanted["worst_error"], abs_tol=1e-9)
        assert got["cuda"]["launches"] > got["cuda"]["backward_launches"] > 0, name
        assert got["cuda"]["tangent_launches"] > 0, name
        assert got["cuda"]["own_type_launches"] > 0, name
        assert "refused" not in got["cuda"], (name, got["cuda"])


MEETING = """import triton
import triton.language as tl


# tad: M=3, N=20, X=f32[M, N], Y=f32[M, N], BLOCK=32, grid=(M, 2)
@triton.jit
def kernel(X, Y, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(X + row * N + cols, mask=cols < N, other=0.0)
    tl.store(Y + row * N + cols, x * x, mask=cols < N)
"""


def test_programs_that_meet_run_one_after_the_other(
    cpu: Runner, cuda: Runner, tmp_path: Path
) -> None:
    file = tmp_path / "meeting.py"
    file.write_text(MEETING)
    proof = derived(file)[1]["kernel"]
    wanted = cpu.ask("gradcheck", {**proof, "max_seconds": 60})["result"]
    got = cuda.ask("gradcheck", {**proof, "max_seconds": 60})["result"]
    for part in ("status", "reason", "covered", "steps", "findings"):
        assert got[part] == wanted[part], part
    assert got["cuda"]["launches"] > 0, got["cuda"]


def test_a_gpu_that_fails_takes_no_proof_along(stand_in: str, cpu: Runner) -> None:
    proof = derived(ROOT / "examples/softmax.py")[1]["softmax_kernel"]
    wanted = cpu.ask("gradcheck", proof)["result"]
    for failure in (
        "cuMemAlloc_v2:2",
        "cuStreamQuery:700:3",
        "cuMemcpyDtoH_v2:719:2",
        "cuInit:999",
    ):
        runner = CudaRunner(both(stand_in, STAND_IN_FAIL=failure))
        got = runner.ask("gradcheck", proof)["result"]
        runner.end()
        assert (got["status"], got["steps"]) == (wanted["status"], wanted["steps"])
        assert got["cuda"]["refused"], failure


# --- NVIDIA's own compiler, without a GPU ---

FUNCTIONS = """
    x = tl.load(X + tl.arange(0, 32))
    y = tl.load(Y + tl.arange(0, 32))
    z = tl.exp(x) + tl.log2(y) + tl.erf(x) + tl.sigmoid(y) + tl.rsqrt(x) + tl.fma(x, y, x) + x % y
    z += libdevice.lgamma(x) + libdevice.jn(3, y) + libdevice.nextafter(x, y) + libdevice.cbrt(x)
    z += libdevice.ilogb(x) + libdevice.normcdf(y) + libdevice.isnan(x) + libdevice.ldexp(x, 2)
    z += libdevice.erfcx(x) + libdevice.rhypot(x, y) + libdevice.signbit(x) + libdevice.rint(y)
    tl.store(Out + tl.arange(0, 32), z)
"""


@pytest.fixture(scope="module")
def nvrtc(stand_in: str) -> Iterator[Runner]:
    """A worker with NVIDIA's compiler, whose code the stand-in for the driver does not load."""
    spec = importlib.util.find_spec("nvidia.cuda_nvrtc")
    assert spec and spec.submodule_search_locations, "tests/requirements.txt names the package"
    folder = Path(next(iter(spec.submodule_search_locations))) / "lib"
    library = str(folder / "libnvrtc.so.12")
    started = CudaRunner({"TAD_LIBCUDA": stand_in, "TAD_NVRTC": library})
    yield started
    started.end()


@pytest.mark.parametrize("own_types", [False, True])
@pytest.mark.parametrize("name", [*KERNELS, "functions"])
def test_nvidia_compiles_it(name: str, own_types: bool, nvrtc: Runner) -> None:
    functions = f"\ndef k(X, Y, N, Out, M, n, scale, BLOCK: tl.constexpr):{FUNCTIONS}"
    given = parameters(name, functions if name == "functions" else None)
    given["own_types"] = own_types
    refused = nvrtc.ask("run", given)["result"]["cuda"]["refused"]
    assert refused.startswith("loading the kernel: "), refused
