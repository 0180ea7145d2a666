"""A fixed array whose size a kernel decides takes it from analysis/ir/limits.h, where each limit has its reason.

Clang's parser lists every array of a fixed size in the C sources, and the constants that its size is made of.
Left out is what nothing that a user wrote can be written beyond: constant tables, arrays as large as what they are
initialised with, and parameters, whose array is the caller's. Buffers of characters may have a plain number for a
size; those that are written to by index are bounded by their own `sizeof`. Whether the index of a write is checked,
people read; tests/test_hostile.py runs kernels at the edge of each limit under the sanitizers.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest
from clang.cindex import Cursor, CursorKind, Index, TypeKind

ROOT = Path(__file__).resolve().parents[1]
BIN = Path(os.environ.get("TAD_BIN", ROOT / "build")).resolve()
FOLDERS = ("base", "analysis", "autodiff", "gpu-runner", "features", "codeactions", "server")
LIMITS = "analysis/ir/limits.h"

# Sides of an operation, bounds of a range, axes of a grid, words of a counter: of so few items each has a meaning
# of its own.
FEW = 4

# Named beside their arrays, each with its reason there: they do not grow with a kernel.
OF_NO_KERNEL = {
    "analysis/calls/rule_text.c": {"RULE_BUCKETS"},
    "analysis/checks/check_types.c": {"MOST_TERMS"},
    "analysis/expressions/lower_access.c": {"QUESTION_CODES"},
    "analysis/module/module_launch.c": {"CALLABLE_WORDS"},
    "analysis/ops/op.c": {"NAME_SLOTS", "PARAMETER_POOL"},
    "analysis/syntax/syntax.c": {"SYMBOL_LIMIT", "LETTER_LIMIT"},
    "autodiff/atomics/covers.c": {"MOST_FACTORS"},
    "autodiff/gathers/ordered_places.h": {"MOST_PLACES", "MOST_TAPS"},
    "autodiff/joins/joined_sums.c": {"MOST_ADDENDS"},
    "autodiff/joins/moments.c": {"MOST_CARRIED", "MOST_ELEMENTS", "MOST_ITERATIONS"},
    "autodiff/sweep/adjoint_reduce.c": {"MOMENTS"},
    "autodiff/tape/memory.c": {"VERSION_COUNT"},
    "base/parallel.h": {"PARALLEL_MOST_WORKERS"},
    "codeactions/fix_names.c": {"MOST_SPELLINGS"},
    "gpu-runner/cuda/device.c": {"MOST_KERNELS"},
    "gpu-runner/cuda/spare.c": {"MOST_PIECES"},
    "gpu-runner/staging/lower.h": {"FAULT_WORDS"},
    "gpu-runner/interp/coverage.c": {"WORDS"},
    "gpu-runner/interp/interp.c": {"FEW"},
    "gpu-runner/interp/interp.h": {"INTERP_KNOWN_PARAMETERS"},
    "gpu-runner/interp/memory.h": {"PAGE_ELEMENTS"},
    "gpu-runner/sandbox/sandbox_filter.c": {"MOST_OF_RULE", "RULES"},
}


def place_of(cursor: Cursor, root: Path) -> str:
    file = Path(cursor.location.file.name) if cursor.location.file else Path("/")
    return file.relative_to(root).as_posix() if file.is_relative_to(root) else ""


def sizes_of(array: Cursor) -> list[Cursor]:
    """The expressions in the brackets; none where the initialiser decides."""
    written = [token.spelling for token in array.get_tokens()]
    name = written.index(array.spelling) if array.spelling in written else 0
    if written[name + 1 : name + 3] == ["[", "]"]:
        return []
    return [
        child
        for child in array.get_children()
        if child.kind.is_expression() and child.kind != CursorKind.INIT_LIST_EXPR
    ]


def takes_size_of_something(expression: Cursor) -> bool:
    return any(c.kind == CursorKind.CXX_UNARY_EXPR for c in expression.walk_preorder())


def constants_in(expression: Cursor) -> list[Cursor]:
    return [
        found.referenced
        for found in expression.walk_preorder()
        if found.kind == CursorKind.DECL_REF_EXPR
        and found.referenced.kind == CursorKind.ENUM_CONSTANT_DECL
    ]


def counts_a_table(constant: Cursor) -> bool:
    """OP_COUNT behind the last of the operations, or a quotient of sizes: as many as there are."""
    others = list(constant.semantic_parent.get_children())
    is_last = len(others) > 1 and others[-1] == constant and not list(constant.get_children())
    return is_last or takes_size_of_something(constant)


def is_made_of_limits(constant: Cursor, root: Path) -> bool:
    """A limit, or what is computed from limits."""
    if place_of(constant, root) == LIMITS:
        return True
    parts = [part for value in constant.get_children() for part in constants_in(value)]
    return bool(parts) and all(is_made_of_limits(part, root) for part in parts)


def has_reason(constant: Cursor) -> bool:
    """A comment behind it on its line, above it, or above its enumeration."""
    lines = Path(constant.location.file.name).read_text(encoding="utf-8").split("\n")
    at, first = constant.location.line, constant.semantic_parent.extent.start.line
    return any(re.search(r"//|\*/", lines[line - 1]) for line in (at, at - 1, first - 1) if line)


def is_bounded_by_its_size(array: Cursor) -> bool:
    text = Path(array.location.file.name).read_text(encoding="utf-8")
    return re.search(rf"sizeof [\w>.-]*\b{array.spelling}\b", text) is not None


def complaint(array: Cursor, is_written_by_index: bool, root: Path) -> str | None:
    """What is wrong with the size of an array."""
    most, element = 1, array.type
    while element.kind == TypeKind.CONSTANTARRAY:
        most, element = max(most, element.element_count), element.element_type
    if array.kind == CursorKind.VAR_DECL and element.is_const_qualified():
        return None
    sizes = sizes_of(array)
    if most <= FEW or not sizes or any(takes_size_of_something(size) for size in sizes):
        return None
    constants = [constant for size in sizes for constant in constants_in(size)]
    if not constants:
        is_text = element.get_canonical().kind in (TypeKind.CHAR_S, TypeKind.UCHAR)
        is_bounded = is_text and (not is_written_by_index or is_bounded_by_its_size(array))
        return None if is_bounded else "its size is a plain number"
    for constant in constants:
        home = place_of(constant, root)
        if is_made_of_limits(constant, root) or counts_a_table(constant):
            continue
        is_own = constant.spelling in OF_NO_KERNEL.get(home, ())
        if not is_own and not place_of(array, root).startswith(("base/", "server/")):
            return f"{constant.spelling} is no limit of {LIMITS}"
        if not has_reason(constant):
            return f"{constant.spelling} has no reason beside it"
    return None


class Survey:
    """The arrays of some files, those of headers once."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.seen: set[str] = set()
        self.count = 0
        self.complaints: set[str] = set()
        self.used: set[tuple[str, str]] = set()  # constants: where and which

    def take(self, file: Path, arguments: list[str]) -> None:
        unit = Index.create().parse(str(file), arguments)
        assert not [d.spelling for d in unit.diagnostics if d.severity >= d.Error], file
        arrays: list[Cursor] = []
        written: set[int] = set()
        for declaration in unit.cursor.get_children():
            place = place_of(declaration, self.root)
            key = f"{place}:{declaration.location.offset}"
            if place.startswith(FOLDERS) and key not in self.seen:
                self.seen.add(key)
                self.walk(declaration, arrays, written)
        for array in arrays:
            self.count += 1
            place = f"{place_of(array, self.root)}: {array.spelling}"
            for size in sizes_of(array):
                self.used |= {(place_of(c, self.root), c.spelling) for c in constants_in(size)}
            if said := complaint(array, array.hash in written, self.root):
                self.complaints.add(f"{place}: {said}")

    def walk(self, cursor: Cursor, arrays: list[Cursor], written: set[int]) -> None:
        kind = cursor.kind
        if kind in (CursorKind.VAR_DECL, CursorKind.FIELD_DECL):
            if cursor.type.kind == TypeKind.CONSTANTARRAY:
                arrays.append(cursor)
        elif kind == CursorKind.BINARY_OPERATOR:
            target = next(cursor.get_children())
            if target.kind == CursorKind.ARRAY_SUBSCRIPT_EXPR:
                written |= {c.referenced.hash for c in target.walk_preorder() if c.referenced}
        for child in cursor.get_children():
            self.walk(child, arrays, written)


def arguments_of(command: str) -> list[str]:
    words = shlex.split(command)
    kept = [word for word in words if word.startswith(("-I", "-std=", "-DTAD", "-D_"))]
    for i, word in enumerate(words):
        if word == "-isystem":
            kept += words[i : i + 2]
    return [word for word in kept if "FORTIFY" not in word]


@pytest.fixture(scope="module")
def resources() -> list[str]:
    """Where clang has the headers that belong to a compiler."""
    command = ["clang", "-print-resource-dir"]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    return ["-resource-dir", found.stdout.strip()]


def test_arrays_take_their_sizes_from_the_one_place(resources):
    survey = Survey(ROOT)
    for entry in json.loads((BIN / "compile_commands.json").read_text(encoding="utf-8")):
        file = Path(entry["file"])
        if file.is_relative_to(ROOT) and file.relative_to(ROOT).parts[0] in FOLDERS:
            survey.take(file, [*arguments_of(entry["command"]), *resources])
    assert survey.count > 400
    assert "\n".join(sorted(survey.complaints)) == ""
    own = {(file, name) for file, names in OF_NO_KERNEL.items() for name in names}
    assert own <= survey.used, "OF_NO_KERNEL names what sizes no array"


@pytest.mark.sampled(0.3)
@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("void f(void) { int a[5]; }", "plain number"),
        ("struct S { int a[2][9]; };", "plain number"),
        ("enum { MOST = 7 }; struct S { int a[2 * MOST]; };", "no limit of"),
        ("enum { MOST = 7 };  // reason\nstruct S { int a[MOST]; };", "no limit of"),
        ("void f(int i) { char t[40]; t[i] = 0; }", "plain number"),
        ("struct S { char t[40]; }; void f(struct S *s, int i) { s->t[i] = 0; }", "plain number"),
        ("void f(void) { int a[4]; }", None),
        ("void f(void) { int a[] = {1, 2, 3, 4, 5}; }", None),
        ("static const int a[9] = {1};", None),
        ("void f(int a[9]);", None),
        ("void g(char *); void f(void) { char t[40]; g(t); }", None),
        ("enum { A, B, C, D, E, COUNT }; int a[COUNT];", None),
        ("static const int t[] = {1, 2, 3, 4, 5}; int a[sizeof t / sizeof *t];", None),
        ('#include "analysis/ir/limits.h"\nint a[2 * TYPE_MAX_RANK + 1];', None),
        ('#include "analysis/ir/limits.h"\nenum { M = 3 * TYPE_MAX_RANK };\nint a[M];', None),
        (
            '#include "analysis/ir/limits.h"\nenum { Q = 9, M = TYPE_MAX_RANK + Q };\nint a[M];',
            "no limit",
        ),
    ],
)
def test_an_array_of_another_size_is_found(code, said, tmp_path):
    (tmp_path / "analysis/ir").mkdir(parents=True)
    (tmp_path / LIMITS).write_text((ROOT / LIMITS).read_text(encoding="utf-8"))
    file = tmp_path / "analysis/a.c"
    file.write_text(code + "\n")
    survey = Survey(tmp_path)
    survey.take(file, [f"-I{tmp_path}"])
    assert [c.split(": ")[-1] for c in survey.complaints if said and said in c] == (
        [next(iter(survey.complaints)).split(": ")[-1]] if said else []
    )
    assert bool(survey.complaints) == bool(said)


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("enum { MOST = 7 };  // of queues\nint a[MOST];", None),
        ("// of queues\nenum { MOST = 7 };\nint a[MOST];", None),
        ("enum { MOST = 7 };\nint a[MOST];", "has no reason"),
    ],
)
def test_what_no_kernel_decides_has_its_reason_beside_it(code, said, tmp_path):
    (tmp_path / "server").mkdir()
    file = tmp_path / "server/a.c"
    file.write_text("int x;\n" + code + "\n")
    survey = Survey(tmp_path)
    survey.take(file, [])
    assert bool(survey.complaints) == bool(said)
    assert all(said in c for c in survey.complaints)


def test_each_limit_has_a_reason():
    """A comment that says why, and what follows beyond; some limits follow one another under it."""
    text = (ROOT / LIMITS).read_text(encoding="utf-8")
    for limits in re.findall(r"enum \{(.*?)\n\};", text, re.DOTALL):
        assert re.match(r"\n    ///", limits), "the first one has none"
        assert "//" not in re.sub(r"///[^\n]*", "", limits), "write it above, as the others"
