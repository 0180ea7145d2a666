"""Kernels as torch.compile generates them: its helper functions are known though PyTorch is nowhere to be found."""

import ast
import re

import pytest

from tests.cli.conftest import HEADER, ROOT, Workspace

GENERATED = HEADER.replace(
    "\n\n\n",
    "\nfrom torch._inductor.runtime import triton_helpers, triton_heuristics\n"
    "from torch._inductor.runtime.triton_helpers import libdevice, math as tl_math\n\n\n",
)
DECORATORS = "@triton_heuristics.pointwise(size_hints={'x': 512}, filename=__file__)\n@triton.jit\n"

POINTWISE = (
    GENERATED
    + DECORATORS
    + """def fused_bias_relu(in_out_ptr0, in_ptr0, xnumel, XBLOCK: tl.constexpr):
    xnumel = 480
    xoffset = tl.program_id(0) * XBLOCK
    xindex = xoffset + tl.arange(0, XBLOCK)[:]
    xmask = xindex < xnumel
    tmp0 = tl.load(in_out_ptr0 + (xindex), xmask)
    tmp1 = tl.load(in_ptr0 + (xindex % 24), xmask, eviction_policy="evict_last")
    tmp2 = tmp0 + tmp1
    tmp3 = tl.full([1], 0, tl.int32)
    tmp4 = triton_helpers.maximum(tmp3, tmp2)
    tl.store(in_out_ptr0 + (xindex), tmp4, xmask)
"""
)

MOMENTS = (
    GENERATED
    + DECORATORS
    + """def fused_moments(in_ptr0, out_ptr0, out_ptr1, xnumel, rnumel, XBLOCK: tl.constexpr, RBLOCK: tl.constexpr):
    xnumel = 12
    rnumel = 40
    xindex = tl.program_id(0) * XBLOCK + tl.arange(0, XBLOCK)[:, None]
    xmask = xindex < xnumel
    rbase = tl.arange(0, RBLOCK)[None, :]
    mean = tl.zeros([XBLOCK, RBLOCK], tl.float32)
    m2 = tl.zeros([XBLOCK, RBLOCK], tl.float32)
    weight = tl.zeros([XBLOCK, RBLOCK], tl.float32)
    for roffset in range(0, rnumel, RBLOCK):
        rindex = roffset + rbase
        rmask = rindex < rnumel
        value = tl.load(in_ptr0 + (rindex + 40 * xindex), rmask & xmask, other=0.0)
        mean_next, m2_next, weight_next = triton_helpers.welford_reduce(value, mean, m2, weight, roffset == 0)
        mean = tl.where(rmask & xmask, mean_next, mean)
        m2 = tl.where(rmask & xmask, m2_next, m2)
        weight = tl.where(rmask & xmask, weight_next, weight)
    row_mean, row_m2, _ = triton_helpers.welford(mean, m2, weight, 1)
    tl.store(out_ptr0 + (xindex), row_mean[:, None], xmask)
    tl.store(out_ptr1 + (xindex), libdevice.rsqrt(row_m2[:, None] / 40.0 + 1e-05), xmask)
"""
)


def proved(workspace: Workspace) -> None:
    report = workspace.check("--grad").json
    assert [(k["status"], k["reason"]) for k in report["kernels"]] == [("proved", "")]
    assert [d["message"] for d in report["diagnostics"] if d["name"] == "not-understood"] == []


def test_a_pointwise_kernel(workspace: Workspace) -> None:
    workspace.write({"a.py": POINTWISE})
    proved(workspace)
    text = workspace.tad("--backward", "a.py").stdout
    assert re.search("^import torch$", text, re.M), "`from torch._inductor` binds no `torch`"


def test_statistics(workspace: Workspace) -> None:
    workspace.write({"a.py": MOMENTS})
    proved(workspace)
    text = workspace.tad("--backward", "a.py").stdout
    defined = [node.name for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]
    assert defined.count("welford_combine") == 1, (
        "the combine function that the backward needs is in it"
    )


def test_every_helper_is_understood(workspace: Workspace) -> None:
    table = (ROOT / "server/settings/torch_helpers.def").read_text()
    rows = re.findall(r'^HELPER\("(\w+)", "([^"]*)"', table, re.M)
    assert len(rows) > 20
    special = {"dim": "0", "axis": "0", "keep_dims": "False", "use_fast_math": "False"}
    special |= {"mask": "x > 0", "cond": "x > 0", "msg": "''", "seed": "7", "index": "i"}
    special |= {"offset": "i", "low": "n", "high": "n + 5"}
    integers = {"div_floor_integer", "remainder_integer"}
    body = ""
    for name, parameters in rows:
        if name.startswith("_"):
            continue
        names = [p.split(":")[0].split("=")[0].strip() for p in parameters.split(",")]
        arguments = [
            special.get(p, "i" if name in integers or p.endswith("_index") else "x") for p in names
        ]
        body += f"    triton_helpers.{name}({', '.join(arguments)})\n"
    kernel = "@triton.jit\ndef all_helpers(x_ptr, n, B: tl.constexpr):\n    i = tl.arange(0, B)\n"
    kernel += "    x = tl.load(x_ptr + i) + 0.5\n"
    workspace.write({"a.py": GENERATED + kernel + body + "    tl.store(x_ptr + i, x)\n"})
    found = [d for d in workspace.check().json["diagnostics"] if d["name"] != "sum-in-input-type"]
    assert [(d["name"], d["message"]) for d in found] == []


def test_a_torch_of_the_project_comes_first(workspace: Workspace) -> None:
    workspace.write({"a.py": POINTWISE, "torch/_inductor/runtime/__init__.py": ""})
    own = "@triton.jit\ndef maximum(a, b, c):\n    return a\n"
    workspace.write({"torch/_inductor/runtime/triton_helpers.py": HEADER + own})
    assert workspace.tad("--check", "a.py", "-f", "json").names == ["wrong-argument"]


COMBINED = """@triton.jit
def product_of_rows(x_ptr, y_ptr, n, N: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, N)
    x = tl.load(x_ptr + row * n + lanes, mask=lanes < n, other=1.0)
    tl.store(y_ptr + row, row_product(x))
"""
HELPERS = """@triton.jit
def times(left, right):
    return left * right


@triton.jit
def row_product(values):
    return tl.reduce(values, 0, times)
"""


@pytest.mark.parametrize(
    "taken", ["", "@triton.jit\ndef times(left, right):\n    return left - right\n\n\n"]
)
def test_a_combine_function_of_another_file(workspace: Workspace, taken: str) -> None:
    """The backward computes the product anew, so it has the combine function, under a name that is free."""
    imports = HEADER.replace("\n\n\n", "\nfrom helpers import row_product\n\n\n")
    workspace.write({"a.py": imports + taken + COMBINED, "helpers.py": HEADER + HELPERS})
    report = workspace.tad("--check", "--grad", "a.py", "-f", "json").json
    assert [(k["status"], k["reason"]) for k in report["kernels"]] == [("proved", "")]


MERGED = """@triton.jit
def merge(mean_a, count_a, m2_a, mean_b, count_b, m2_b):
    count = count_a + count_b
    total = SMALLEST
    mean = (mean_a * count_a + mean_b * count_b) / total
    squares = m2_a + mean_a * mean_a * count_a + m2_b + mean_b * mean_b * count_b
    return mean, count, squares - count * mean * mean


@triton.jit
def merged(mean_ptr, count_ptr, m2_ptr, out_ptr, N: tl.constexpr):
    lanes = tl.arange(0, N)
    mean = tl.load(mean_ptr + lanes).to(tl.float32)
    count = tl.load(count_ptr + lanes).to(tl.float32)
    m2 = tl.load(m2_ptr + lanes).to(tl.float32)
    mean, count, m2 = tl.reduce((mean, count, m2), 0, merge)
    tl.store(out_ptr, m2)
"""


def test_counts_of_a_merge_of_variances(workspace: Workspace) -> None:
    """By counts that it takes for at least 1 the merge has another derivative: none, and never a wrong one."""
    workspace.write({"a.py": HEADER + MERGED.replace("SMALLEST", "count")})
    proved(workspace)
    workspace.write({"a.py": HEADER + MERGED.replace("SMALLEST", "tl.maximum(count, 1)")})
    report = workspace.check("--grad").json
    assert [k["status"] for k in report["kernels"]] == ["refused"]
    assert "counts are 1 or more" in report["kernels"][0]["reason"]
