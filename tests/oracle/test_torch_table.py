"""What `torch.def` says of each function is what the real PyTorch does."""

from __future__ import annotations

import json
import re
import subprocess

from tests.oracle.pool import PYTHON, ROOT

ROW = re.compile(
    r'^TORCH\("(\w+)", (\w+), (\w+), (\w+), (\w+), ([01]), "((?:[^"])*)"\)$', re.MULTILINE
)
TEXT = (ROOT / "analysis/host_values/torch.def").read_text()
ROWS = [
    dict(zip(("name", "use", "storage", "contents", "shape", "tells", "example"), row, strict=True))
    for row in ROW.findall(TEXT)
]

# Runs under the Python with PyTorch: for each row a list of sentences on what is not so.
PROGRAM = """
import json, sys, torch

def first(tensor):
    # untyped_storage() is newer than Debian's PyTorch
    return (tensor.untyped_storage() if hasattr(tensor, "untyped_storage") else tensor.storage()).data_ptr()

def faults_of(row):
    said = []
    def want(condition, words):
        if not condition:
            said.append(words)
    # contiguous first; a view of a transposed tensor tells MAY_VIEW from VIEW
    shares = []
    for x in (torch.randn(4, 6) / 4 + 1, (torch.randn(6, 4) / 4 + 1).t()):
        before, place, shape, dtype = x.clone(), first(x), x.shape, x.dtype
        try:
            result = eval(row["example"], {"torch": torch, "x": x})
        except RuntimeError:
            want(not x.is_contiguous() and row["storage"] in ("VIEW", "MAY_VIEW"), "it fails")
            continue
        storage, contents = row["storage"], row["contents"]
        is_tensor = isinstance(result, torch.Tensor)
        if storage in ("ASKS", "READS", "UNKNOWN"):
            want(not is_tensor, "the result is a tensor")
            want(torch.equal(x, before), "the operand is written to")
            continue
        want(is_tensor, "the result is no tensor")
        shares.append(first(result) == place)
        if storage == "NEW":
            want(not shares[-1], "the result shares the operand's memory")
        if storage == "VIEW":
            want(shares[-1], "the result has memory of its own")
        if storage == "IN_PLACE":
            want(result is x, "the result is not the operand")
        else:
            want(torch.equal(x, before), "the operand is written to")
        if row["shape"] == "KEEPS":
            want(result.shape == shape and result.dtype == dtype, "shape or element type differ")
        if contents == "ZEROS":
            want(bool((result == 0).all()), "not zeros")
        if contents == "ONES":
            want(bool((result == 1).all()), "not ones")
        if contents == "FULL":
            want(bool((result == 7).all()), "not the number")
        if contents == "INDICES":
            steps = result[1:] - result[:-1]
            want(bool(torch.allclose(steps, steps[0].expand_as(steps))), "no even steps")
        if contents == "COPIED" and row["shape"] == "KEEPS":
            want(torch.equal(result, before), "other elements")
        if contents == "COPIED":
            want(bool(torch.isin(result, before).all()), "elements that the operand has not")
    if row["use"] in ("FUNCTION", "BOTH"):
        functions = (torch, torch.nn.functional)
        want(any(hasattr(f, row["name"]) for f in functions), "torch has no such function")
    if row["use"] != "FUNCTION":
        want(hasattr(torch.Tensor, row["name"]), "tensors have no such member")
    if storage == "MAY_VIEW" and contents == "COMPUTED":  # of a tensor that has the type already
        again = eval(row["example"], {"torch": torch, "x": result})
        want(first(again) == first(result), "it never shares memory")
    elif storage == "MAY_VIEW":
        want(any(shares), "it never shares memory")
    return said

rows = json.load(sys.stdin)
print(json.dumps({row["name"]: faults_of(row) for row in rows}))
"""


def faults(rows: list[dict[str, str]]) -> dict[str, list[str]]:
    run = subprocess.run(
        [PYTHON, "-c", PROGRAM],
        input=json.dumps(rows),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return {name: said for name, said in json.loads(run.stdout).items() if said}


def test_each_row_is_read_and_runs() -> None:
    assert len(ROWS) == len(re.findall(r"^TORCH\(", TEXT, re.MULTILINE)) > 100
    assert len({row["name"] for row in ROWS}) == len(ROWS)
    without = [row["name"] for row in ROWS if not row["example"] and row["storage"] != "UNKNOWN"]
    assert without == ["cuda", "type", "itemsize"]


def test_each_row_is_what_pytorch_does() -> None:
    assert faults([row for row in ROWS if row["example"]]) == {}


def test_a_wrong_row_is_found() -> None:
    known = {row["name"]: row for row in ROWS}
    wrong = [
        {**known["empty_like"], "storage": "VIEW"},
        {**known["transpose"], "storage": "NEW"},
        {**known["clone"], "storage": "MAY_VIEW"},
        {**known["zeros_like"], "contents": "ONES"},
        {**known["add_"], "storage": "NEW"},
        {**known["sum"], "shape": "KEEPS"},
        {**known["exp"], "contents": "COPIED"},
    ]
    assert set(faults(wrong)) == {row["name"] for row in wrong}
