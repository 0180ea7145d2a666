"""Owners load the tiles of their loop by descriptors, where the launch may: of tensors that lie evenly."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.emitted.plan import ROOT, Runner, derived, tad

ATTENTION = ROOT / "examples" / "attention.py"
TWO_STAGE = ROOT / "examples" / "attention_two_stage.py"

KERNEL = """import torch
import triton
import triton.language as tl


@triton.jit
def attend(q, k, v, o, T, stride, D: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    block = tl.program_id(0)
    head = tl.program_id(1) * T * stride
    q += head
    k += head
    v += head
    o += head
    m = block * BLOCK_M + tl.arange(0, BLOCK_M)
    d = tl.arange(0, D)
    ROWS
    acc = tl.zeros([BLOCK_M, D], dtype=tl.float32)
    for start in range(0, T, BLOCK_N):
        n = start + tl.arange(0, BLOCK_N)
        inside = n[:, None] < T
        y = tl.load(k + n[:, None] * stride + d[None, :], mask=inside, other=0.0)
        z = tl.load(v + n[:, None] * stride + d[None, :], mask=inside, other=0.0)
        s = tl.dot(x, tl.trans(y)) * 0.25
        p = tl.where(inside.T, tl.sigmoid(s), 0.0)
        acc += tl.dot(p.to(z.dtype), z)
    tl.store(o + m[:, None] * stride + d[None, :], acc, mask=m[:, None] < T)


def attention(q, k, v):
    o = torch.empty_like(q)
    heads, T, D = q.shape
    attend[(triton.cdiv(T, 16), heads)](q, k, v, o, T, q.stride(1), D=D, BLOCK_M=16, BLOCK_N=16)
    return o
"""

PLAIN = "x = tl.load(q + m[:, None] * stride + d[None, :], mask=m[:, None] < T, other=0.0)"

#: How rows are loaded, and how many of two tiles a descriptor loads then: the other is the upstream gradient's.
LOADS = {
    PLAIN: 2,
    PLAIN.replace("m[:, None] * stride", "m.to(tl.int64)[:, None] * stride"): 2,
    # a number where nothing is, elements apart, a mask of columns, every second row
    PLAIN.replace("other=0.0", "other=1.0"): 1,
    PLAIN.replace("d[None, :],", "d[None, :] * 2 % D,"): 1,
    PLAIN.replace("m[:, None] < T", "(m[:, None] < T) & (d[None, :] < D - 1)"): 1,
    PLAIN.replace("m[:, None] < T", "m[:, None] * 2 < T"): 1,
    # rows in front of the first one are there for a pointer, and zeros for a descriptor
    PLAIN.replace("x = ", "m -= 1\n    x = ").replace(
        "mask=m[:, None] < T, other=0.0)", "mask=m[:, None] < T - 1, other=0.0)\n    m += 1"
    ): 0,
}


def keys_of(text: str, name: str) -> str:
    start = text.index(f"def {name}(")
    return text[start : text.index("\nclass ", start)]


@pytest.mark.parametrize("rows", list(LOADS))
def test_tiles_of_whole_rows_have_descriptors(rows: str, tmp_path: Path) -> None:
    path = tmp_path / "attend.py"
    path.write_text(KERNEL.replace("ROWS", rows))
    run = tad("--backward", "--no-proof", path)
    assert run.returncode == 0, run.stderr
    keys = keys_of(run.stdout, "attend_backward_dk_dv")
    assert keys.count("tl.make_tensor_descriptor(") == LOADS[rows]
    assert keys.count("    if DESCRIBED:") == LOADS[rows]


def test_the_launch_asks_how_tensors_lie() -> None:
    run = tad("--backward", "--no-proof", ATTENTION)
    text = " ".join(run.stdout.split())
    strides = "stride_qm, stride_qb, stride_qh, stride_om, stride_ob, stride_oh"
    assert f"DESCRIBED=_are_described( (Q, dOut), ({strides}), rows=(seq_q,), )," in text
    # what nothing masks may have any number of rows, and what may have gaps is asked for 1
    text = " ".join(tad("--backward", "--no-proof", TWO_STAGE).stdout.split())
    assert "ones=(stride_qk, stride_ok)," in text
    assert "[2147483647, HEAD_DIM], [stride_qm, 1]," in text


def helper(card: int, is_compiling: bool = False) -> tuple[object, list]:
    """The helper of an emitted module, on a card of this generation; and the allocators that it sets."""
    tree = ast.parse(tad("--backward", "--no-proof", ATTENTION).stdout)
    node = next(n for n in tree.body if getattr(n, "name", "") == "_are_described")
    allocators: list = []
    cuda = SimpleNamespace(get_device_capability=lambda device: (card, 0))
    names: dict = {
        "torch": SimpleNamespace(
            version=SimpleNamespace(hip=None),
            compiler=SimpleNamespace(is_compiling=lambda: is_compiling),
            cuda=cuda,
        ),
        "tl": SimpleNamespace(make_tensor_descriptor=None),
        "triton": SimpleNamespace(set_allocator=allocators.append),
    }
    exec(compile(ast.Module([node], []), "helper", "exec"), names)
    return names["_are_described"], allocators


def tensor(address: int = 1024, width: int = 2, device: str = "cuda") -> SimpleNamespace:
    return SimpleNamespace(
        device=SimpleNamespace(type=device), element_size=lambda: width, data_ptr=lambda: address
    )


@pytest.mark.parametrize(
    ("card", "tensors", "strides", "ones", "are"),
    [
        (9, [tensor(), tensor()], (64, 4096), (), True),
        (10, [tensor(width=4)], (4, 64), (1,), True),
        (8, [tensor()], (64,), (), False),
        (9, [tensor(device="cpu")], (64,), (), False),
        (9, [tensor(), tensor(address=1026)], (64,), (), False),
        (9, [tensor()], (63,), (), False),  # rows start between
        (9, [tensor()], (0,), (), False),  # one row for all
        (9, [tensor()], (-64,), (), False),
        (9, [tensor(width=8)], (64,), (), False),
        (9, [tensor()], (64,), (2,), False),  # rows have gaps
    ],
)
def test_even_tensors_are_described(card: int, tensors, strides, ones, are: bool) -> None:
    ask, allocators = helper(card)
    assert ask(tensors, strides, (1, 7), ones) is are
    assert helper(card)[0](tensors, strides, (7, 0), ones) is False  # nothing to describe
    assert len(allocators) == are
    if are:
        assert helper(card, is_compiling=True)[0](tensors, strides, (), ones) is False


def test_the_proof_runs_the_descriptors() -> None:
    request = derived(ATTENTION)[1]["attention_kernel"]
    runner = Runner()
    try:
        assert runner.ask("gradcheck", request)["status"] == "proved"
        text = request["backward"]["source"]
        # the first rows for each of the blocks: right through pointers alone
        fixed = text.replace(
            "load_tensor_descriptor(Q_tiles, [offset,", "load_tensor_descriptor(Q_tiles, [0,"
        )
        assert fixed != text
        edited = json.loads(json.dumps(request))
        edited["backward"]["source"] = fixed
        answer = runner.ask("gradcheck", edited)
        assert answer["status"] == "failed"
        assert "in the tiles that it is launched with" in json.dumps(answer)
    finally:
        runner.close()


def test_who_asks_nothing_has_no_descriptors() -> None:
    """Operators and callers by hand choose nothing."""
    for wrapper in ("none", "triton_op"):
        run = tad("--backward", "--no-proof", "--wrapper", wrapper, ATTENTION)
        assert run.returncode == 0 and "DESCRIBED" not in run.stdout


def test_variants_below_a_flag_ask_nothing(tmp_path: Path) -> None:
    """Each has tiles of its own: the launch says nothing of them, and they come through pointers."""
    path = tmp_path / "kinds.py"
    path.write_text((ROOT / "tests/oracle/cases/attention_by_kind.py").read_text())
    run = tad("--backward", "--no-proof", path)
    assert run.returncode == 0
    assert "if DESCRIBED:" in run.stdout and "_are_described" not in run.stdout
