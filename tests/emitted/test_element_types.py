"""What a tensor holds may be known only where a kernel is launched; a backward that rests on it says so."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.emitted.plan import tad
from tests.triton.compile import CompileFailure, compile_kernel

HEAD = """import triton
import triton.language as tl


"""
ASKS = (
    HEAD
    + """@triton.jit
def scaled(x_ptr, w_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    if x.dtype.{asks}():
        v = x.to(tl.float8e5, bitcast=True).to(tl.float32)
    else:
        v = x.to(tl.float32)
    w = tl.load(w_ptr + i, mask=i < n)
    tl.store(y_ptr + i, v * w, mask=i < n)
"""
)
PRODUCT = (
    HEAD
    + """@triton.jit
def product(a_ptr, s_ptr, b_ptr, t_ptr, w_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros([BM, BN], dtype=tl.float32)
    ks = tl.arange(0, BK // 32)
    for k in range(0, K, BK):
        a = tl.load(a_ptr + m[:, None] * {a_width} + (k // {a_pack} + tl.arange(0, BK // {a_pack}))[None, :])
        s = tl.load(s_ptr + m[:, None] * (K // 32) + (k // 32 + ks)[None, :])
        b = tl.load(b_ptr + n[None, :] * {b_width} + (k // {b_pack} + tl.arange(0, BK // {b_pack}))[:, None])
        t = tl.load(t_ptr + n[:, None] * (K // 32) + (k // 32 + ks)[None, :])
        acc = tl.dot_scaled(a, {s}, "{a_format}", b, t, "{b_format}", acc)
    acc *= tl.load(w_ptr + n)[None, :]
    tl.store(c_ptr + m[:, None] * N + n[None, :], acc)
"""
)
LOSS = (
    "import torch\n"
    + HEAD
    + """@triton.jit
def loss(x_ptr, t_ptr, y_ptr, n, INDEX: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + cols, mask=cols < n, other=0.0)
    if INDEX:
        label = tl.load(t_ptr + row)
        tl.store(y_ptr + row * n + cols, x * x, mask=cols < n)
        tl.debug_barrier()
        tl.store(y_ptr + row * n + label, tl.sum(x, 0))
    else:
        t = tl.load(t_ptr + row * n + cols, mask=cols < n, other=0.0)
        tl.store(y_ptr + row * n + cols, x * t, mask=cols < n)


def run(x, t):
    y = torch.empty_like(x)
    n = x.shape[1]
    loss[(x.shape[0],)](x, t, y, n, t.dtype == torch.int64, triton.next_power_of_2(n))
    return y
"""
)


def product(a_format: str, b_format: str) -> str:
    packs = {"e2m1": 2}
    a_pack, b_pack = packs.get(a_format, 1), packs.get(b_format, 1)
    return PRODUCT.format(
        a_format=a_format,
        b_format=b_format,
        a_pack=a_pack,
        b_pack=b_pack,
        a_width=f"(K // {a_pack})",
        b_width=f"(K // {b_pack})",
        s="None" if a_format == "bf16" else "s",
    )


def emitted(tmp_path: Path, text: str, kernel: str) -> str:
    file = tmp_path / "kernel.py"
    file.write_text(text)
    arguments = ("--backward", f"{file}:{kernel}", "--wrapper", "none", "--no-proof")
    return tad(*arguments).stdout


def test_answers_that_are_taken_for_granted(tmp_path: Path) -> None:
    """`x.dtype.is_int()` of a tensor that no launch shows: floats are derived, and bytes do not compile."""
    text = emitted(tmp_path, ASKS.format(asks="is_int"), "scaled")
    types = {"x_ptr": "*fp16", "w_ptr": "*fp32", "n": "i32"}
    types |= dict.fromkeys(("dy_ptr", "dx_ptr", "dw_ptr"), "*fp32")
    compile_kernel(text, "scaled_backward", types, {"BLOCK": 16}, until="ttir")
    with pytest.raises(CompileFailure, match="for floats alone"):
        bytes_of_x = types | {"x_ptr": "*u8"}
        compile_kernel(text, "scaled_backward", bytes_of_x, {"BLOCK": 16}, until="ttir")


def test_a_pointer_that_is_taken_for_one_of_another_type(tmp_path: Path) -> None:
    """Of a tensor that no launch shows: what it is taken for is derived, and other tensors do not compile."""
    file = Path(__file__).parents[1] / "runner" / "unconfigured" / "pointer_types.py"
    text = emitted(tmp_path, file.read_text(), "exponentials")
    pointers = ("x_ptr", "y_ptr", "dy_ptr", "dx_ptr")
    types = dict.fromkeys(pointers, "*fp32") | {"total": "fp32", "n": "i32"}
    types |= {"dtotal_ptr": "*fp32"}
    types = {name: kind for name, kind in types.items() if re.search(rf"\b{name}\b", text)}
    compile_kernel(text, "exponentials_backward", types, {"BLOCK": 16}, until="ttir")
    for name in ("x_ptr", "y_ptr"):
        with pytest.raises(CompileFailure, match="for tensors of float32 alone"):
            half = types | {name: "*fp16"}
            compile_kernel(text, "exponentials_backward", half, {"BLOCK": 16}, until="ttir")


@pytest.mark.parametrize(
    ("a_format", "b_format", "inputs"),
    [
        ("bf16", "e2m1", ["a_ptr", "w_ptr"]),
        ("e2m1", "e2m1", ["w_ptr"]),
        ("e4m3", "e2m1", ["a_ptr", "w_ptr"]),
        ("e5m2", "e4m3", ["a_ptr", "b_ptr", "w_ptr"]),
    ],
)
def test_block_scaled_products(
    tmp_path: Path, a_format: str, b_format: str, inputs: list[str]
) -> None:
    """Each factor that holds floats has a gradient; bytes and scales have none."""
    text = product(a_format, b_format)
    (tmp_path / "kernel.py").write_text(text)
    report = json.loads(tad("--check", "--grad", "--format", "json", tmp_path / "kernel.py").stdout)
    (kernel,) = report["kernels"]
    assert kernel["status"] == "proved", kernel["reason"]
    written = emitted(tmp_path, text, "product")
    assert [name for name in ("a_ptr", "b_ptr", "w_ptr") if f"d{name}" in written] == inputs
    elements = {"bf16": "*bf16", "e2m1": "*u8", "e4m3": "*fp8e4nv", "e5m2": "*fp8e5"}
    given = {
        "a_ptr": elements[a_format],
        "b_ptr": elements[b_format],
        "s_ptr": "*u8",
        "t_ptr": "*u8",
    }
    for name, header in re.findall(r"def (product_backward\w*)\(([^)]*)\)", written):
        names = [word.strip() for word in header.split(",") if word.strip() and ":" not in word]
        types = {n: given.get(n, "*fp32" if n.endswith("_ptr") else "i32") for n in names}
        constants = {"BM": 32, "BN": 64, "BK": 128}
        compile_kernel(written, name, types, constants, until="ttir")


def test_packed_numbers(tmp_path: Path) -> None:
    """The sixteen numbers of e2m1, as the emitted backward makes them of four bits."""
    written = emitted(tmp_path, product("bf16", "e2m1"), "product")
    choice = "twice = tl.where(power == 0, digit, 2 + digit << tl.maximum(power, 1) - 1)"
    assert choice.replace(" ", "") in "".join(written.split())
    sizes = []
    for code in range(8):
        power, digit = code >> 1 & 3, code & 1
        sizes.append((digit if power == 0 else 2 + digit << max(power, 1) - 1) * 0.5)
    assert sizes == [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0]


PACKED_FACTOR = (
    HEAD
    + """@triton.jit
def unpacked(p, s, rows, cols, inside, BITS: tl.constexpr, D: tl.constexpr):
    each: tl.constexpr = 32 // BITS
    words = tl.load(p + rows[:, None] * (D // each) + cols[None, :] // each, mask=inside[:, None], other=0)
    whole = (words >> (cols[None, :] % each * BITS)) & ((1 << BITS) - 1)
    return whole.to(tl.float32) * tl.load(s + rows, mask=inside, other=0.0)[:, None]

@triton.jit
def weighed(q, k, s, out, n, BITS: tl.constexpr, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr):
    rows = tl.program_id(0) * M + tl.arange(0, M)
    cols = tl.arange(0, D)
    a = tl.load(q + rows[:, None] * D + cols[None, :])
    acc = tl.zeros((M, D), tl.float32)
    for start in range(0, n, N):
        at = start + tl.arange(0, N)
        inside = at < n
        if BITS > 0:
            v = unpacked(k, s, at, cols, inside, BITS, D)
        else:
            v = tl.load(k + at[:, None] * D + cols[None, :], mask=inside[:, None], other=0.0)
        acc += tl.dot(tl.dot(a, tl.trans(v)).to(v.dtype), v)
    tl.store(out + rows[:, None] * D + cols[None, :], acc)

def packed(q, k, s, bits):
    out = torch.empty_like(q)
    weighed[(q.shape[0] // 16,)](q, k, s, out, k.shape[0], bits, 16, 16, q.shape[1])
    return out

def plain(q, k):
    out = torch.empty_like(q)
    weighed[(q.shape[0] // 16,)](q, k, q, out, k.shape[0], 0, 16, 16, q.shape[1])
    return out
"""
)


def test_factor_that_is_packed_or_a_float(tmp_path: Path) -> None:
    """Nothing but that it is a factor of a product says that a tensor holds floats where no bits are taken from it."""
    file = tmp_path / "weighed.py"
    file.write_text(PACKED_FACTOR)
    (kernel,) = json.loads(tad("--check", "--grad", "--format", "json", file).stdout)["kernels"]
    assert kernel["status"] == "proved", kernel["reason"]
    report = tad("--dump", "configurations", f"{file}:weighed").stdout
    assert re.search(r"proved.* k=f32,.* BITS=0,", report), report
    assert "dk" in tad("--backward", f"{file}:weighed", "--wrapper", "none", "--no-proof").stdout


def test_output_that_one_way_stores_twice(tmp_path: Path) -> None:
    """Targets are labels or floats: an output that labels store twice has a running gradient both ways."""
    file = tmp_path / "loss.py"
    file.write_text(LOSS)
    (kernel,) = json.loads(tad("--check", "--grad", "--format", "json", file).stdout)["kernels"]
    assert kernel["status"] == "proved", kernel["reason"]
    assert "INDEX=False/True" in kernel["covered"]


def test_index_that_a_flag_casts(tmp_path: Path) -> None:
    """A number that a flag makes an index by a cast is no float there: the kernel is not divided for it."""
    file = tmp_path / "rows.py"
    file.write_text(
        HEAD
        + """@triton.jit
def rows(x_ptr, start_ptr, code_ptr, y_ptr, n, ONE: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    start = tl.load(start_ptr + row)
    code = tl.load(code_ptr + row) & 7
    cols = tl.arange(0, BLOCK)
    if ONE:
        at = tl.full((BLOCK,), start, dtype=tl.int32) + cols
        code += tl.load(code_ptr + row + 1) & 1
    else:
        at = start + cols
    x = tl.load(x_ptr + at, mask=cols < n, other=0.0)
    tl.store(y_ptr + row * n + cols, x * x * code, mask=cols < n)
"""
    )
    text = tad("--backward", f"{file}:rows", "--wrapper", "none", "--no-proof").stdout
    assert text.split("def rows_backward")[1].count("tl.load(start_ptr") == 1
