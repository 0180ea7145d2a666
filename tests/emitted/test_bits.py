"""No gradient passes through the bits of a float, and none is taken to be zero. What only selects is no such thing."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.emitted.plan import proved_module, tad
from tests.triton.compile import compile_kernel

HEAD = """import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice
"""
KERNEL = """

@triton.jit
def {name}(o_ptr, x_ptr, w_ptr, i_ptr, n, FLAG: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    v = tl.load(x_ptr + i, mask=m, other=0.5).to(tl.float32)
    w = tl.load(w_ptr + i, mask=m, other=0.5).to(tl.float32)
{body}
    tl.store(o_ptr + i, r * (w + 2.0), mask=m)


def run_{name}(x, w, flag=False):
    i = torch.zeros(x.numel(), dtype=torch.int32)
    o = torch.empty_like(x)
    {name}[(triton.cdiv(x.numel(), 16),)](o, x, w, i, x.numel(), FLAG=flag, BLOCK=16)
    return o
"""
# Each makes a float `r` of the bits of `v`.
OF_BITS = {
    "absolute": "b = v.to(tl.int32, bitcast=True) & 0x7FFFFFFF\nr = b.to(tl.float32, bitcast=True)",
    "cast_function": "b = tl.cast(v, tl.uint32, bitcast=True) | 1\n"
    "r = tl.cast(b, tl.float32, bitcast=True)",
    "half_of_exponent": "r = ((v.to(tl.int32, bitcast=True) >> 22) & 511).to(tl.float32)",
    "fraction": "b = (v.to(tl.int32, bitcast=True) & 0x7FFFFF) | 0x3F800000\n"
    "r = b.to(tl.float32, bitcast=True)",
    "quotient_of_two": "b = v.to(tl.uint32, bitcast=True) & 0x7FC00000\n"
    "r = b.to(tl.float32, bitcast=True)",
    "mixed": "b = v.to(tl.int32, bitcast=True)\n"
    "r = ((b + (b & 0xFF)) & 0x7F800000).to(tl.float32, bitcast=True)",
    "fast_log": "r = v.to(tl.int32, bitcast=True).to(tl.float32) * 1.2e-7 - 127.0",
    "promoted": "r = (v.to(tl.int32, bitcast=True) >> 8) * 1.5",
    "quotient": "r = (v.to(tl.int32, bitcast=True) >> 8) / 3",
    "half": "b = v.to(tl.float16).to(tl.int16, bitcast=True) ^ 1\n"
    "r = b.to(tl.float16, bitcast=True).to(tl.float32)",
    "brain": "b = (v.to(tl.uint32, bitcast=True) >> 16).to(tl.uint16)\n"
    "r = b.to(tl.bfloat16, bitcast=True).to(tl.float32)",
    "double": "b = v.to(tl.float64).to(tl.int64, bitcast=True) & -2\n"
    "r = b.to(tl.float64, bitcast=True).to(tl.float32)",
    "eight": "b = v.to(tl.float8e5).to(tl.uint8, bitcast=True)\n"
    "r = b.to(tl.float8e5, bitcast=True).to(tl.float32)",
    "rounding": "b = v.to(tl.uint32, bitcast=True) + (tl.randint(7, i).to(tl.uint32) & 0xFFFF)\n"
    "r = (b & 0xFFFF0000).to(tl.float32, bitcast=True)",
    "packed": "a = v.to(tl.float16).to(tl.uint16, bitcast=True).to(tl.uint32)\n"
    "b = w.to(tl.float16).to(tl.uint16, bitcast=True).to(tl.uint32)\n"
    "c = (a << 16) | b\n"
    "r = (c >> 16).to(tl.uint16).to(tl.float16, bitcast=True).to(tl.float32)",
    "sort_key": "k = (v.to(tl.uint32, bitcast=True).to(tl.uint64) << 32) | i.to(tl.uint64)\n"
    "r = (tl.sort(k) >> 32).to(tl.uint32).to(tl.float32, bitcast=True)",
    "maximum": "k = tl.max(v.to(tl.int32, bitcast=True), 0)\n"
    "r = k.to(tl.float32, bitcast=True) + tl.zeros([BLOCK], tl.float32)",
    "loop": "b = v.to(tl.int32, bitcast=True)\n"
    "for t in range(3):\n"
    "    b = b ^ (b >> 1)\n"
    "r = b.to(tl.float32, bitcast=True)",
    "branch": "b = i\n"
    "if n > 4:\n"
    "    b = v.to(tl.int32, bitcast=True)\n"
    "r = b.to(tl.float32, bitcast=True)",
    "choice": "b = tl.where(i > 3, v.to(tl.int32, bitcast=True), 0)\n"
    "r = b.to(tl.float32, bitcast=True)",
    "reshaped": "b = tl.reshape(v.to(tl.int32, bitcast=True), [4, 4])\n"
    "r = tl.reshape(tl.trans(b), [16]).to(tl.float32, bitcast=True)",
    "joined": "b = v.to(tl.int32, bitcast=True)\n"
    "a, c = tl.split(tl.join(b, i))\n"
    "r = a.to(tl.float32, bitcast=True)",
    "summed": "b = tl.sum(v.to(tl.int32, bitcast=True), 0)\n"
    "r = b.to(tl.float32) + tl.zeros([BLOCK], tl.float32)",
    "memory": "tl.store(i_ptr + i, v.to(tl.int32, bitcast=True), mask=m)\n"
    "b = tl.load(i_ptr + (i ^ 1), mask=m, other=0)\n"
    "r = b.to(tl.float32, bitcast=True)",
    "device": "r = libdevice.int_as_float(libdevice.float_as_int(v) & 0x7FFFFFFF)",
    "assembly": 'r = tl.inline_asm_elementwise("and.b32 $0, $1, 0x7fffffff;", "=r,r", [v], dtype=tl.float32, '
    "is_pure=True, pack=1)",
    "flipped": 'r = tl.inline_asm_elementwise("xor.b32 $0, $1, 0x80000000;", "=f,f", [v], dtype=tl.float32, '
    "is_pure=True, pack=1)",
    "pointer": "b = tl.load(x_ptr.to(tl.pointer_type(tl.int32)) + i, mask=m, other=0)\n"
    "r = b.to(tl.float32, bitcast=True)",
    "pairs": "b = tl.load(x_ptr.to(tl.pointer_type(tl.int16)) + 2 * i, mask=m, other=0)\n"
    "r = b.to(tl.bfloat16, bitcast=True).to(tl.float32)",
    "other_float": "r = tl.load(x_ptr.to(tl.pointer_type(tl.float16)) + i, mask=m, other=0.).to(tl.float32)",
    "output": "r = v\n"
    "tl.store(o_ptr.to(tl.pointer_type(tl.int32)) + i, v.to(tl.int32, bitcast=True), mask=m)",
}
# Each only selects with whole numbers, or with bits.
SELECTING = {
    "cut": "j = tl.floor(v * 4).to(tl.int32)\nr = v * (j & 3).to(tl.float32)",
    "compared": "r = v * (w > v).to(tl.int32).to(tl.float32)",
    "sign_bit": "r = tl.where((v.to(tl.int32, bitcast=True) >> 31) != 0, -v, v * 2)",
    "seed": "r = tl.where(tl.rand(n, i) > 0.3, v, 0.0)",
    "place": "r = v * (tl.argmax(v, 0) + 1).to(tl.float32)",
    "key_index": "k = (v.to(tl.uint32, bitcast=True).to(tl.uint64) << 32) | i.to(tl.uint64)\n"
    "j = (tl.max(k, 0) & 0xFFFFFFFF).to(tl.int32)\n"
    "r = v * (j & 7).to(tl.float32)",
    "key_remainder": "k = v.to(tl.uint32, bitcast=True).to(tl.int64) * 65536 + i\n"
    "r = v * (k % 65536).to(tl.float32)",
    "byte_input": "b = tl.load(i_ptr + i, mask=m, other=0)\n"
    "r = v * (b & 0x3FFFFFFF).to(tl.float32, bitcast=True)",
    "exponent": "r = v * ((v.to(tl.int32, bitcast=True) >> 23) & 255).to(tl.float32)",
    "power_of_two": "b = v.to(tl.uint32, bitcast=True) & 0x7F800000\n"
    "r = v / b.to(tl.float32, bitcast=True)",
    "rounded_up": "b = (v.to(tl.uint32, bitcast=True) + 0x7FFFFF) & 0x7F800000\n"
    "r = v / b.to(tl.float32, bitcast=True)",
    "ceil_of_log": "b = tl.cast(v, tl.uint32, bitcast=True)\n"
    "e = ((b >> 23) & 0xFF) - 127 + tl.where((b & 0x7FFFFF) != 0, 1, 0)\n"
    "r = v / tl.cast((tl.cast(e, tl.int32) + 127) << 23, tl.float32, bitcast=True)",
    "constant": "b = tl.full([], 126, tl.int32) << 23\n"
    "r = v * tl.cast(b, tl.float32, bitcast=True)",
    "kept": "tl.store(i_ptr + i, v.to(tl.int32, bitcast=True), mask=m)\nr = v * v",
}


def module(bodies: dict[str, str]) -> str:
    kernels = (
        KERNEL.format(name=name, body="\n".join("    " + line for line in body.split("\n")))
        for name, body in bodies.items()
    )
    return HEAD + "".join(kernels)


def checked(tmp_path: Path, text: str) -> dict[str, dict]:
    file = tmp_path / "bits.py"
    file.write_text(text)
    report = json.loads(tad("--check", "--grad", "--format", "json", file).stdout)
    errors = [d["message"] for d in report["diagnostics"] if d["severity"] == "error"]
    assert errors == []
    return {kernel["name"]: kernel for kernel in report["kernels"]}


def test_bits_carry_no_gradient(tmp_path: Path) -> None:
    """Refused by name, each of them, although the gradient of `w` is the same whatever the bits are."""
    found = checked(tmp_path, module(OF_BITS))
    assert {name: kernel["status"] for name, kernel in found.items()} == dict.fromkeys(
        OF_BITS, "refused"
    )
    for name, kernel in found.items():
        assert "bits" in kernel["reason"] or "element type" in kernel["reason"], name


def test_what_selects_is_constant(tmp_path: Path) -> None:
    """Indices, masks, seeds and the signs that bits tell: derived and proved as before."""
    found = checked(tmp_path, module(SELECTING))
    assert {name: kernel["status"] for name, kernel in found.items()} == dict.fromkeys(
        SELECTING, "proved"
    )


def test_bits_alone_are_not_differentiable(tmp_path: Path) -> None:
    text = module({"k": OF_BITS["absolute"]}).replace("r * (w + 2.0)", "r")
    (kernel,) = checked(tmp_path, text).values()
    assert kernel["status"] == "not-differentiable"
    assert "as bits only" in kernel["reason"]


def test_bits_that_the_launcher_takes_for_floats(tmp_path: Path) -> None:
    """A whole number that a launcher views as a float is one."""
    text = module({"kept": SELECTING["kept"]})
    for before, after in (
        ("    return o\n", "    return o, i.view(torch.float32)\n"),
        ("    return o\n", "    return o, i.view(x.dtype)\n"),
        ("](o, x, w, i,", "](o, x, w, i.view(torch.int32),"),
        ("    o = torch.empty", "    i = x.clone().view(torch.int32)\n    o = torch.empty"),
    ):
        assert before in text
        (kernel,) = checked(tmp_path, text.replace(before, after)).values()
        assert kernel["status"] == "refused", after
        assert "stored to `i_ptr` as a whole number" in kernel["reason"]


def test_only_the_branch_with_bits_is_refused(tmp_path: Path) -> None:
    """The rest is derived, and the emitted kernel stops compilation where the flag is set."""
    bits = "r = v * v\nif FLAG:\n    r = (v.to(tl.int32, bitcast=True) & -256).to(tl.float32, bitcast=True)"
    text = module({"k": bits})
    (kernel,) = checked(tmp_path, text).values()
    assert kernel["status"] == "proved"
    emitted = tad("--backward", "-q", tmp_path / "bits.py").stdout
    assert 'not FLAG,\n        "no gradient where FLAG is set: a float is made' in emitted
    (kernel,) = checked(tmp_path, text.replace("if FLAG", "if not FLAG")).values()
    assert kernel["status"] in {"derived", "proved"}
    assert "static_assert(\n        FLAG," in tad("--backward", "-q", tmp_path / "bits.py").stdout


@pytest.mark.parametrize("what", ["bits", "index"])
def test_launch_that_passes_bits_on_is_left_out(tmp_path: Path, what: str) -> None:
    """One kernel makes whole numbers of bits, the next makes floats of these."""
    bits = "x.to(tl.int32, bitcast=True)" if what == "bits" else "(x > 0).to(tl.int32)"
    text = f"""{HEAD}

@triton.jit
def first(i_ptr, x_ptr, B: tl.constexpr):
    i = tl.arange(0, B)
    x = tl.load(x_ptr + i).to(tl.float32)
    tl.store(i_ptr + i, {bits})


@triton.jit
def second(o_ptr, i_ptr, x_ptr, B: tl.constexpr):
    i = tl.arange(0, B)
    b = tl.load(i_ptr + i).to(tl.int32)
    x = tl.load(x_ptr + i)
    tl.store(o_ptr + i, x * b.to(tl.float32, bitcast=True))


def run(x):
    i = torch.empty(16, dtype=torch.int32)
    o = torch.empty_like(x)
    first[(1,)](i, x, B=16)
    second[(1,)](o, i, x, B=16)
    return o
"""
    file = tmp_path / "two.py"
    file.write_text(text)
    result = tad("--backward", "--no-proof", file)
    assert ("def run(" in result.stdout) == (what == "index")
    assert ("it also launches `first`" in result.stdout + result.stderr) == (what == "bits")


CACHED = f"""{HEAD}

@triton.jit
def scores(q_ptr, k_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    mask = lanes < n
    q = tl.load(q_ptr + row * n + lanes, mask=mask, other=0.0).to(tl.float32)
    k = tl.load(k_ptr + row * n + lanes, mask=mask, other=0)
    if k.dtype == tl.uint8:
        k = k.to(tl.float8e5, bitcast=True).to(tl.float32)
    else:
        k = k.to(tl.float32)
    tl.store(y_ptr + row, tl.exp(tl.sum(q * k)))


def run(q, k):
    y = torch.empty(q.shape[0], dtype=torch.float32, device=q.device)
    scores[(q.shape[0],)](q, k, y, q.shape[1], BLOCK=triton.next_power_of_2(q.shape[1]))
    return y
"""


@pytest.mark.parametrize("cache", ["*fp16", "*fp32", "*u8"])
def test_bytes_below_a_question_for_bytes(tmp_path: Path, cache: str) -> None:
    """Where the cache holds bytes it has no gradient, and its floats are those that the forward reads."""
    text = proved_module(tmp_path, CACHED)
    backward = text[text.index("def scores_backward") :].split("\nclass ")[0]
    assert "bitcast=True" in backward
    names = re.findall(r"^    (\w+)(?:: tl\.constexpr)?[,=]", backward.split("):")[0], re.MULTILINE)
    types = {"q_ptr": "*fp32", "k_ptr": cache, "y_ptr": "*fp32", "n": "i32"}
    types |= {f"d{name}": kind for name, kind in types.items() if name.endswith("_ptr")}
    constants: dict[str, object] = {"BLOCK": 64}
    if cache == "*u8":
        del types["dk_ptr"]
        constants["dk_ptr"] = None
    types = {name: kind for name, kind in types.items() if name in names}
    constants |= {name: None for name in names if name.endswith("_before")}
    ttir = compile_kernel(text, "scores_backward", types, constants, until="ttir").raw_ttir
    assert ("f8E5M2" in ttir) == (cache == "*u8"), ttir


def test_bits_of_floats_below_a_question_for_others(tmp_path: Path) -> None:
    """Below `!=`, below a question for floats or for something else, the bits are those of floats."""
    for question in ("k.dtype != tl.uint8", "k.dtype == tl.float16", "n == 8"):
        text = CACHED.replace("k.dtype == tl.uint8", question).replace(
            "k.to(tl.float8e5, bitcast=True)", "k.to(tl.float16).to(tl.float16, bitcast=True)"
        )
        (kernel,) = checked(tmp_path, text).values()
        assert (
            kernel["status"] != "proved"
            or "static_assert" in tad("--backward", "-q", tmp_path / "bits.py").stdout
        ), question
