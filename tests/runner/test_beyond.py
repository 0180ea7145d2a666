"""Loads that reach beyond a row, whose values the forward drops: what a backward makes of these places is seen.

The gradients there are 0. A backward that stores these zeros overwrites those of the next row, which sizes that are no
multiples of the blocks show; no other sizes excuse that.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.emitted.plan import Runner, derived

PRODUCT = """import torch
import triton
import triton.language as tl


@triton.jit
def product(a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    pid = tl.program_id(0)
    rm = pid // tl.cdiv(N, BN) * BM + tl.arange(0, BM)
    rn = pid % tl.cdiv(N, BN) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        left = K - k
        a_ptrs = a_ptr + rm[:, None] * K + (k + rk)[None, :]
        b_ptrs = b_ptr + (k + rk)[:, None] * N + rn[None, :]
        a = tl.load(a_ptrs, mask=rk[None, :] < left, other=0.0)
        b = tl.load(b_ptrs, mask=rk[:, None] < left, other=0.0)
        acc += tl.dot(a, b)
    inside = (rm[:, None] < M) & (rn[None, :] < N)
    tl.store(c_ptr + rm[:, None] * N + rn[None, :], acc, mask=inside)
"""
LAUNCHED = PRODUCT.replace("M, N, K, BM", "M, N, K, sa, sb, sc, BM")
LAUNCHED = LAUNCHED.replace("[:, None] * K", "[:, None] * sa").replace(
    "rk)[:, None] * N", "rk)[:, None] * sb"
)
LAUNCHED = LAUNCHED.replace("c_ptr + rm[:, None] * N", "c_ptr + rm[:, None] * sc")
LAUNCHED += """

def run(a, b):
    M, K = a.shape
    N = b.shape[1]
    c = torch.empty((M, N), device=a.device)
    grid = (triton.cdiv(M, 32) * triton.cdiv(N, 32),)
    sa, sb, sc = a.stride(0), b.stride(0), c.stride(0)
    product[grid](a, b, c, M, N, K, sa, sb, sc, BM=32, BN=32, BK=32)
    return c
"""


@pytest.fixture(scope="module")
def runner() -> Iterator[Runner]:
    """One worker for all."""
    started = Runner()
    yield started
    started.close()


def asked(runner: Runner, proof: dict, source: str) -> dict:
    """The answer to a proof of another backward."""
    return runner.ask("gradcheck", {**proof, "backward": {**proof["backward"], "source": source}})


def in_kernel(source: str, line: str) -> str:
    """The text with another line in place of the one that stores the gradient of b."""
    (found,) = [each for each in source.splitlines() if "tl.store(db_ptr" in each]
    place = found.split("mask=")[0]
    return source.replace(found, place + line)


@pytest.mark.parametrize("text", [PRODUCT, LAUNCHED], ids=["alone", "launched"])
def test_zeros_in_the_next_row_are_wrong(tmp_path: Path, runner: Runner, text: str) -> None:
    """Without the bound of the columns the last tile's zeros meet the next row's gradient."""
    file = tmp_path / "kernel.py"
    file.write_text(text)
    proof = derived(file)[1]["product"]
    source = proof["backward"]["source"]
    wide = in_kernel(source, "mask=rk[:, None] < left)")
    assert asked(runner, proof, source)["status"] == "proved"
    answer = asked(runner, proof, wide)
    assert answer["status"] == "failed", answer
    assert "store zeros over the gradients of others" in answer["reason"], answer["reason"]
