"""An id of four digits: programs along one of them, or along two that are no neighbours, share what the others own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.emitted.plan import tad

STATES = """import torch
import triton
import triton.language as tl


@triton.jit
def states(
    q_ptr, v_ptr, u_ptr, h_ptr, o_ptr, T, H: tl.constexpr, K: tl.constexpr, V: tl.constexpr,
    BK: tl.constexpr, BV: tl.constexpr,
):
    pid = tl.program_id(0)
    NV, NK = tl.cdiv(V, BV), tl.cdiv(K, BK)
    {digits}
    batch, head = row // H, row % H
    k = of_keys * BK + tl.arange(0, BK)
    v = of_values * BV + tl.arange(0, BV)
    u = tl.load(u_ptr + head * K + k, mask=k < K, other=0.0)
    inside = (k < K)[:, None] & (v < V)[None, :]
    h_ptrs = h_ptr + row * K * V + k[:, None] * V + v[None, :]
    h = tl.load(h_ptrs, mask=inside, other=0.0)
    for t in range(T):
        at = (batch * T + t) * H + head
        q = tl.load(q_ptr + at * K + k, mask=k < K, other=0.0)
        x = tl.load(v_ptr + at * V + v, mask=v < V, other=0.0)
        h = h * u[:, None] + q[:, None] * x[None, :]
        out = o_ptr + (of_keys * {all} + at) * V + v
        tl.store(out, tl.sum(h * q[:, None], axis=0), mask=v < V)


def launch(q, v, u, h):
    B, T, H, K = q.shape
    V = v.shape[-1]
    BK, BV = 4, 4
    NK, NV = triton.cdiv(K, BK), triton.cdiv(V, BV)
    o = torch.zeros((NK, B, T, H, V), device=q.device)
    states[({grid},)](q, v, u, h, o, T, H=H, K=K, V=V, BK=BK, BV=BV)
    return o
"""
VALUES_FIRST = "of_values, of_keys, row = pid % NV, pid // NV % NK, pid // (NV * NK)"
KEYS_FIRST = "of_keys, of_values, row = pid % NK, (pid // NK) % NV, (pid // NK) // NV"
ALL = "NV * NK * B * H"


def states(tmp_path: Path, digits: str, grid: str) -> Path:
    """The file of such a kernel."""
    path = tmp_path / "states.py"
    path.write_text(
        STATES.format(digits=digits, grid=grid, all="(tl.num_programs(0) // (NV * NK) * T)")
    )
    return path


@pytest.mark.parametrize("digits", [VALUES_FIRST, KEYS_FIRST], ids=["values", "keys"])
def test_programs_along_each_digit_share_without_atomics(digits: str, tmp_path: Path) -> None:
    path = states(tmp_path, digits, ALL)
    run = tad("--backward", path, "--time-limit", "60")
    assert run.returncode == 0 and "gradients proved" in run.stderr, run.stderr
    assert "atomic" not in run.stdout


@pytest.mark.parametrize("less", [1, 3, 5])
def test_a_grid_may_end_within_a_row(less: int, tmp_path: Path) -> None:
    path = states(tmp_path, VALUES_FIRST, f"{ALL} - {less}")
    run = tad("--backward", path, "--time-limit", "60")
    assert run.returncode == 0 and "gradients proved" in run.stderr, run.stderr
    assert "atomic" not in run.stdout


def test_digits_that_are_all_read_are_one_id_again(tmp_path: Path) -> None:
    run = tad("--backward", "--no-proof", states(tmp_path, VALUES_FIRST, ALL))
    assert "% H * " not in run.stdout and "// H * H + " not in run.stdout


@pytest.mark.parametrize("by_value", ["True", "False"])
def test_what_a_flag_has_a_program_own_is_in_the_same_slices(by_value: str, tmp_path: Path) -> None:
    """A gate for each value is one program's, one for each row is shared by blocks of values."""
    path = states(tmp_path, VALUES_FIRST, ALL)
    text = path.read_text()
    for old, new in (
        ("h_ptr, o_ptr, T,", "g_ptr, h_ptr, o_ptr, T,"),
        (
            "BK: tl.constexpr, BV: tl.constexpr,",
            "BK: tl.constexpr, BV: tl.constexpr, OWN: tl.constexpr,",
        ),
        (
            "        h = h * u[:, None]",
            "        if OWN:\n"
            "            g = tl.load(g_ptr + (at * NK + of_keys) * V + v, mask=v < V, other=0.0)\n"
            "        else:\n"
            "            g = tl.load(g_ptr + at)\n"
            "        x *= g\n"
            "        h = h * u[:, None]",
        ),
        ("def launch(q, v, u, h):", "def launch(q, v, u, g, h):"),
        ("(q, v, u, h, o, T,", "(q, v, u, g, h, o, T,"),
        ("BK=BK, BV=BV)", f"BK=BK, BV=BV, OWN={by_value})"),
    ):
        assert old in text, old
        text = text.replace(old, new)
    path.write_text(text)
    run = tad("--backward", path, "--time-limit", "60")
    assert run.returncode == 0 and "gradients proved" in run.stderr, run.stderr
    assert "atomic" not in run.stdout
