"""What authors print while they look for a fault: nothing false is said of it."""

import pytest

from tests.cli.conftest import Workspace

KERNEL = """import triton
import triton.language as tl


@triton.jit
def k(x_ptr, n, BLOCK: tl.constexpr, DEBUG: tl.constexpr = False, NAME: tl.constexpr = "k"):
    pid = tl.program_id(0)
    i = pid * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0)
    STATEMENT
    tl.store(x_ptr + i, x * 2, mask=i < n)
"""

FINE = [
    'if DEBUG:\n        tl.device_print(f"{NAME}: ", pid)',
    'if DEBUG and pid == 0:\n        tl.device_print("x", x, hex=True)',
    'if DEBUG:\n        print("pid", pid, x)\n        tl.static_print(f"{BLOCK=}", x.shape, x.dtype)',
    'tl.static_print(f"{x_ptr.dtype.element_ty} {x.shape[0]} {BLOCK // 2:04d} {NAME!r:>10}")',
    'tl.static_assert(BLOCK % 2 == 0, f"BLOCK must be even, not {BLOCK}")',
    'tl.device_assert(pid >= 0, f"pid of {NAME}", mask=pid < n)',
    'tl.device_print("x" if DEBUG else "y", x)',
]


@pytest.mark.parametrize("statement", FINE)
def test_prints_and_asserts_are_no_finding(workspace: Workspace, statement: str) -> None:
    workspace.write({"a.py": KERNEL.replace("STATEMENT", statement)})
    assert workspace.tad("--check", "a.py", "-f", "json").json["diagnostics"] == []


@pytest.mark.parametrize(
    ("statement", "severity"),
    [
        ('if DEBUG:\n        print(f"pid {pid}")', "hint"),
        ('if pid == 0:\n        print(f"pid {pid}")', "error"),
        ('print(f"pid {pid}")', "error"),
    ],
)
def test_texts_of_run_time_values(workspace: Workspace, statement: str, severity: str) -> None:
    """Triton refuses them where it compiles them; what a flag turns on may be there for its interpreter."""
    workspace.write({"a.py": KERNEL.replace("STATEMENT", statement)})
    (found,) = workspace.tad("--check", "a.py", "-f", "json").json["diagnostics"]
    assert (found["name"], found["severity"]) == ("unsupported-python", severity)
