"""Programs that pass values to each other through memory are refused by name; those that share tensors are not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.emitted.plan import tad

HEAD = "import torch\nimport triton\nimport triton.language as tl\n"
KERNEL = """

@triton.jit
def {name}(o_ptr, b_ptr, f_ptr, x_ptr, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    i = pid * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    x = tl.load(x_ptr + i, mask=m, other=0.0)
{body}
    tl.store(o_ptr + i, r * x, mask=m)


def run_{name}(x):
    o = torch.empty_like(x)
    b = torch.zeros(2 * x.numel() + 1, dtype=x.dtype)
    f = torch.zeros(x.numel(), dtype=torch.int32)
    {name}[(triton.cdiv(x.numel(), 16),)](o, b, f, x, x.numel(), BLOCK=16)
    return o
"""
AFTER = "tl.store(b_ptr + pid, tl.sum(x) + p)\ntl.debug_barrier()\ntl.atomic_xchg(f_ptr + pid, 1)\n"
WAITS = {
    "volatile": "while tl.load(f_ptr + pid - 1, volatile=True) == 0:\n    pass",
    "plain": "while tl.load(f_ptr) != pid:\n    pass",
    "cache": 'while tl.load(f_ptr + pid - 1, cache_modifier=".cv") == 0:\n    pass',
    "add": "while tl.atomic_add(f_ptr + pid - 1, 0) == 0:\n    pass",
    "cas": "while tl.atomic_cas(f_ptr, pid, pid) != pid:\n    pass",
    "xchg": "while tl.atomic_xchg(f_ptr, 1) == 1:\n    pass",
    "or_zero": "while tl.atomic_or(f_ptr + pid - 1, 0) == 0:\n    pass",
    "max_zero": "while tl.atomic_max(f_ptr + pid - 1, 0) == 0:\n    pass",
    "carried": "s = tl.load(f_ptr + pid - 1)\nwhile s == 0:\n    s = tl.load(f_ptr + pid - 1, volatile=True)",
    "twice": "s = 0\nwhile s < 2:\n    s = tl.load(f_ptr + pid - 1)\n    s += tl.load(f_ptr)",
    "barriers": "while tl.load(f_ptr + pid - 1, volatile=True) == 0:\n    tl.debug_barrier()",
}
# What a program reads of others, without waiting for them.
READS = {
    "before": "tl.store(b_ptr + pid, tl.sum(x))\nr = tl.load(b_ptr + pid - 1)",
    "after": "tl.store(b_ptr + pid, tl.sum(x))\nr = tl.load(b_ptr + pid + 1)",
    "second_before": "tl.store(b_ptr + pid, tl.sum(x))\nr = tl.load(b_ptr + (pid - 2))",
    "tile_before": "tl.store(b_ptr + i, x * 2, mask=m)\nr = tl.load(b_ptr + i - BLOCK, mask=m & (pid > 0), other=0.0)",
    "element_before": "tl.store(b_ptr + i, x * 2, mask=m)\nr = tl.load(b_ptr + i - 1, mask=m & (i > 0), other=0.0)",
    "first": "r = 1.0\nif pid == 0:\n    tl.store(b_ptr, tl.sum(x * x))\nelse:\n    r = tl.load(b_ptr)",
    "sum_of_all": "r = tl.load(b_ptr) + tl.sum(x)\ntl.store(b_ptr, r)",
    "volatile": "tl.store(b_ptr + i, x, mask=m)\nr = tl.load(b_ptr + tl.load(f_ptr + pid), volatile=True)",
}
ALONE = {
    "own": "tl.store(b_ptr + pid, tl.sum(x))\ntl.debug_barrier()\nr = tl.load(b_ptr + pid)",
    "own_tile": "tl.store(b_ptr + i, x * x, mask=m)\ntl.debug_barrier()\nr = tl.load(b_ptr + i, mask=m, other=0.0)",
    "own_other_lanes": "tl.store(b_ptr + i, x * x, mask=m)\ntl.debug_barrier()\n"
    "r = tl.load(b_ptr + (i ^ 1), mask=m, other=0.0)",
    "in_place": "r = tl.load(b_ptr + i, mask=m, other=0.0)\ntl.store(b_ptr + i, r * x, mask=m)",
    "volatile_input": "r = tl.load(x_ptr + i, mask=m, other=0.0, volatile=True)",
    "counted": "r = x\nt = 0\nwhile t < tl.load(f_ptr + pid) + 2:\n    r = r * x\n    t += 1",
    "converges": "r = x * 0.5\nwhile tl.max(tl.abs(r * r - tl.abs(x)), 0) > 3.0:\n    r = 0.5 * r",
    "halves": "tl.store(b_ptr + i, x * x, mask=m)\nr = tl.load(b_ptr + n + i, mask=m, other=1.0)",
    "counts": "tl.atomic_add(f_ptr, 1)\nr = x",
}


def module(bodies: dict[str, str]) -> str:
    kernels = (
        KERNEL.format(name=name, body="\n".join("    " + line for line in body.split("\n")))
        for name, body in bodies.items()
    )
    return HEAD + "".join(kernels)


def checked(tmp_path: Path, text: str) -> dict[str, dict]:
    file = tmp_path / "programs.py"
    file.write_text(text)
    report = json.loads(tad("--check", "--grad", "--format", "json", file).stdout)
    assert [d["message"] for d in report["diagnostics"] if d["severity"] == "error"] == []
    return {kernel["name"]: kernel for kernel in report["kernels"]}


def test_programs_that_wait_are_refused(tmp_path: Path) -> None:
    bodies = {
        name: f"p = 0.0\nif pid > 0:\n{indent(text)}\n    p = tl.load(b_ptr + pid - 1)\n{AFTER}r = p"
        for name, text in WAITS.items()
    }
    found = checked(tmp_path, module(bodies))
    assert {name: kernel["status"] for name, kernel in found.items()} == dict.fromkeys(
        WAITS, "refused"
    )
    for name, kernel in found.items():
        assert "another one to change" in kernel["reason"] or "programs" in kernel["reason"], name


def indent(text: str) -> str:
    return "\n".join("    " + line for line in text.split("\n"))


def test_programs_that_read_of_others_are_refused(tmp_path: Path) -> None:
    found = checked(tmp_path, module(READS))
    assert {name: kernel["status"] for name, kernel in found.items()} == dict.fromkeys(
        READS, "refused"
    )
    for name, kernel in found.items():
        assert "reads of `b_ptr` what another program" in kernel["reason"], name


def test_programs_that_keep_to_themselves_are_derived(tmp_path: Path) -> None:
    found = checked(tmp_path, module(ALONE))
    assert {name: kernel["status"] for name, kernel in found.items()} == dict.fromkeys(
        ALONE, "proved"
    )


def test_work_that_is_handed_out_is_refused_for_want_of_the_tickets(tmp_path: Path) -> None:
    """A ticket is no value of another program's, but the backward does not know which one a program got."""
    body = "t = tl.atomic_add(f_ptr, 1)\nr = tl.load(x_ptr + t * BLOCK + tl.arange(0, BLOCK), mask=m, other=0.0)"
    (kernel,) = checked(tmp_path, module({"k": body})).values()
    assert kernel["status"] == "refused"
    assert "what an atomic gave is not known any more" in kernel["reason"]


# Programs that meet where the text alone does not tell: the launch of the file decides.
LAUNCHED = {
    "shifted": ("r = tl.load(b_ptr + (i + 16) % n, mask=m)", "tl.store(b_ptr + i, x * x, mask=m)"),
    "gathered": ("r = tl.load(b_ptr + n - 1 - i, mask=m)", "tl.store(b_ptr + i, x * x, mask=m)"),
    "collide": ("r = x", "tl.store(b_ptr + i // 32, x, mask=m)"),
}


@pytest.mark.parametrize("name", sorted(LAUNCHED))
def test_a_launch_that_races_is_the_verdict(tmp_path: Path, name: str) -> None:
    """Not proved by other sizes, in which nobody meets; said at its line, in the file, and by the exit status."""
    read, store = LAUNCHED[name]
    text = module({"k": f"{store}\n{read}"})
    file = tmp_path / "programs.py"
    file.write_text(text)
    run = tad("--check", "--grad", "--format", "json", file)
    report = json.loads(run.stdout)
    (kernel,) = report["kernels"]
    if kernel["status"] == "refused":
        return
    assert kernel["status"] == "derived"
    assert "in a launch of this file" in kernel["reason"]
    assert run.returncode == 1
    assert [d["name"] for d in report["diagnostics"] if d["severity"] == "warning"].count("race")
    written = tad("--backward", file)
    assert written.returncode == 1
    assert written.stdout.startswith("# WARNING: the gradients of `k` are not proved: race in")


ORDERED = HEAD + """

@triton.jit
def ordered(out, turn, x, n, BLOCK: tl.constexpr):
    p = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + p * n + i, mask=i < n, other=0.0)
    while tl.load(turn, volatile=True) != p:
        pass
    a = v
    if p > 0:
        a = tl.sigmoid(v) * tl.cos(tl.load(out + i, mask=i < n, other=0.0))
    tl.store(out + i, a, mask=i < n)
    tl.debug_barrier()
    tl.atomic_add(turn, 1)
"""


def test_a_loop_that_waits_and_computes_nothing_is_seen(tmp_path: Path) -> None:
    """Nobody reads what it computes; still, it says in which order programs come."""
    found = checked(tmp_path, ORDERED)
    assert found["ordered"]["status"] == "refused"
    assert "a program waits here for another one" in found["ordered"]["reason"]
