"""The measurement on public repositories: the list, how it is split, what counts as a module that cannot be used."""

from __future__ import annotations

from pathlib import Path

from tests.triton import coverage, coverage_table, repositories
from tests.triton.corpus import find_kernels


def test_the_seed_splits_the_list() -> None:
    """Two parts without a repository in common; commits are known; the same at every call."""
    names = repositories.listed()
    tune, aside = repositories.part_of("tune"), repositories.part_of("aside")
    assert len(names) >= 40
    assert all(len(commit) == 40 for commit in names.values())
    assert sorted([*tune, *aside]) == sorted(names)
    said = {name: word for name, _, *words in repositories.rows() for word in words}
    drawn = [name for name in names if said.get(name) != "aside"]
    assert len([name for name in tune if name not in said]) == round(0.6 * len(drawn))
    assert all(name in repositories.part_of(word) for name, word in said.items())
    assert tune == repositories.part_of("tune")


def test_a_name_that_nobody_defines_is_found(tmp_path: Path) -> None:
    """What the original suffers from too is not the emitted module's fault."""
    original, written = tmp_path / "original.py", tmp_path / "written.py"
    original.write_text("a = missing\n", encoding="utf-8")
    written.write_text("a = missing\n", encoding="utf-8")
    assert repositories.module_faults(original, written) == []
    written.write_text("a = missing + absent\n", encoding="utf-8")
    assert repositories.module_faults(original, written) == ["F821 Undefined name `absent`"]
    written.write_text("def f(a=1, b): pass\n", encoding="utf-8")
    assert repositories.module_faults(original, written)[0].startswith("does not compile")


def test_each_command_keeps_the_other_part_of_the_page() -> None:
    """The packages' tables come first, those of the repositories behind them."""
    second = f"{coverage_table.SECOND_PART}\n\ntables\n"
    first, found = coverage_table.split_page(f"# Coverage\n\npackages\n\n{second}")
    assert (first, found) == ("# Coverage\n\npackages\n\n", second)
    assert coverage_table.split_page("# Coverage\n") == ("# Coverage\n\n", "")


LAUNCHES = """import triton


@triton.jit
def kernel(x, n, BLOCK):
    pass


def twice(x):
    kernel[(1,)](x, 1, 2, BLOCK=16)


def too_many(x):
    kernel[(1,)](x, 1, 2, 3)


def right(x):
    kernel[(1,)](x, 1, BLOCK=16, num_warps=4)


def unknown(x, rest):
    kernel[(1,)](x, *rest, BLOCK=16)
"""


def test_a_launch_that_python_refuses_is_no_false_error(tmp_path: Path) -> None:
    """That Triton compiles the kernel says nothing about an argument that is given twice."""
    path = tmp_path / "launches.py"
    path.write_text(LAUNCHES, encoding="utf-8")
    lines = [n + 1 for n, text in enumerate(LAUNCHES.splitlines()) if "[(1,)]" in text]
    functions = find_kernels(path)
    found = [coverage.python_refuses_launch(path, line, functions) for line in lines]
    assert found == [True, True, False, False]
