"""What is true of an operation is a column of its row: lists of operations elsewhere may not grow."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
COMMENT_OR_STRING = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)

FOLDERS = ("analysis", "autodiff", "codeactions", "features", "gpu-runner", "server")

# A run of labels that has one answer for all of them, or a chain of comparisons.
LABELS = re.compile(r"((?:case OP_\w+:\s*){4,})(?:return (?:true|false)|break);")
CHAIN = re.compile(r"(?:[\w>.\-]+ [=!]= OP_\w+\s*(?:\|\||&&)\s*){3,}[\w>.\-]+ [=!]= OP_\w+")

# The lists that are left, so many in a file: a new property is a TRAIT_ or a column of analysis/ops/op.h.
LEFT = {
    "analysis/build/build.c": 2,
    "analysis/build/infer.c": 2,
    "analysis/checks/check_certainty.c": 1,
    "analysis/checks/check_memory.c": 1,
    "analysis/lowering/lower_cleanup.c": 1,
    "analysis/parameters/roles.c": 1,
    "autodiff/emit/emit_inline.c": 1,
    "autodiff/programs/store_lanes.c": 1,
    "autodiff/rewrite/rewrite.c": 1,
    "autodiff/tape/memory.c": 1,
    "codeactions/fix_memory.c": 1,
    "gpu-runner/configure/facts.c": 1,
    "gpu-runner/interp/interp_memory.c": 1,
    "gpu-runner/verdict/covered.c": 1,
}


def lists_in(text: str) -> int:
    """How many lists of operations decide something in a text of C."""
    code = COMMENT_OR_STRING.sub("", text)
    return len(LABELS.findall(code)) + len(CHAIN.findall(code))


def test_properties_of_operations_stand_in_their_rows():
    found = {
        path.relative_to(ROOT).as_posix(): count
        for folder in FOLDERS
        for path in (ROOT / folder).rglob("*.c")
        if (count := lists_in(path.read_text(encoding="utf-8")))
    }
    grown = {name: count for name, count in found.items() if count > LEFT.get(name, 0)}
    assert grown == {}, "make it a TRAIT_ of analysis/ops/op.h"
    gone = {name: LEFT[name] for name in LEFT if found.get(name, 0) < LEFT[name]}
    assert gone == {}, "LEFT counts lists that are no more"


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("switch (c) { case OP_A: case OP_B:\n case OP_C: case OP_D: return true; }", 1),
        ("switch (c) { case OP_A: case OP_B: case OP_C: return true; }", 0),
        ("switch (c) { case OP_A: case OP_B: case OP_C: case OP_D: walk(x); }", 0),
        ("is = op->code == OP_A || op->code == OP_B || op->code == OP_C || op->code == OP_D;", 1),
        ("is = code == OP_A || code == OP_B || other;", 0),
        ("// case OP_A: case OP_B: case OP_C: case OP_D: return true;", 0),
    ],
)
def test_a_list_is_found(text, count):
    assert lists_in(text) == count
