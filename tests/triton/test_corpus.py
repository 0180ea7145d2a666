"""The independent kernel finder, on small files with every way to write a jit function, and the corpus."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.triton import corpus
from tests.triton.corpus import corpus_files, corpus_kernels, find_kernels

FILE = """
import functools
import triton as T
import triton.language as tl
from triton import jit, autotune as tune
from triton import heuristics
from .helpers import outside

my_jit = T.jit


@jit
def add(a, b):
    return a + b


@T.jit(do_not_specialize=["n"])
def helper_without_value(p, x):
    tl.store(p, x)


@tune(configs=[], key=["n"])
@heuristics({"EVEN": lambda args: True})
@my_jit
def kernel(x_ptr, n: "tl.constexpr", BLOCK: tl.constexpr = 16, *, flag=None):
    x = tl.load(x_ptr)
    helper_without_value(x_ptr, add(x, outside(x)))


@jit
def combine(a, b):
    return a * b


@jit
def launched_without_store(x_ptr):
    tl.reduce(tl.load(x_ptr + tl.arange(0, 8)), 0, combine)


@jit
def atomic_kernel(desc, p):
    if tl.program_id(0) > 0:
        return
    tl.atomic_add(p, 1.0)


@functools.wraps(add)
def plain(p):
    tl.store(p, 1)


def raw(p):
    tl.store(p, 1)


raw_kernel = T.jit(raw)


class Holder:
    @staticmethod
    @jit
    def inside(p):
        tl.store(p, 2)


def factory():
    @jit
    def inner(p):
        tl.store(p, 3)

    return inner


def launch(x):
    launched_without_store[(1,)](x)
"""


@pytest.fixture
def kernels(tmp_path: Path) -> dict[str, corpus.Kernel]:
    """The functions of FILE by name."""
    path = tmp_path / "file.py"
    path.write_text(FILE)
    return {k.name: k for k in find_kernels(path)}


def test_all_ways_to_write_jit(kernels: dict[str, corpus.Kernel]) -> None:
    """Aliases, options, calls, nested functions; plain functions are none."""
    assert set(kernels) == {
        "add", "helper_without_value", "kernel", "combine", "launched_without_store",
        "atomic_kernel", "raw", "Holder.inside", "factory.inner",
    }  # fmt: skip


def test_kernels_and_helpers(kernels: dict[str, corpus.Kernel]) -> None:
    """Launched or writing against called or returning."""
    helpers = {name for name, k in kernels.items() if k.kind == "helper"}
    assert helpers == {"add", "helper_without_value", "combine"}


def test_what_a_kernel_says(kernels: dict[str, corpus.Kernel]) -> None:
    """Line, decorators, parameters, calls."""
    kernel = kernels["kernel"]
    assert FILE.splitlines()[kernel.line - 1].startswith("def kernel")
    assert kernel.decorators == ["tune", "heuristics", "my_jit"]
    assert [(p.name, p.constexpr, p.default) for p in kernel.params] == [
        ("x_ptr", False, None), ("n", True, None), ("BLOCK", True, "16"), ("flag", False, "None"),
    ]  # fmt: skip
    assert sorted(kernel.calls) == ["add", "helper_without_value", "outside"]
    assert kernels["raw"].decorators == ["T.jit()"]
    assert not kernels["atomic_kernel"].returns_value


def test_helpers_of_other_files(tmp_path: Path) -> None:
    """A function that only another file's kernel calls is a helper; broken files are passed over."""
    head = "import triton\nimport triton.language as tl\n"
    (tmp_path / "a.py").write_text(
        head
        + "from .b import write as put\n\n@triton.jit\ndef k(p):\n    put(p)\n    tl.store(p, 1)\n"
    )
    (tmp_path / "b.py").write_text(
        head + "@triton.jit\ndef write(p):\n    tl.store(p, 1)\n\n"
        "@triton.jit\ndef other(p):\n    tl.store(p, 2)\n"
    )
    (tmp_path / "broken.py").write_text("import triton\n@triton.jit\ndef f(:\n")
    (tmp_path / "mention.py").write_text("# triton.jit\nx = 'triton.jit'\n")
    assert [p.name for p in corpus_files(tmp_path)] == ["a.py", "b.py"]
    kinds = {k.name: k.kind for _, ks in corpus_kernels(tmp_path) for k in ks}
    assert kinds == {"k": "kernel", "write": "helper", "other": "kernel"}


def test_test_kernels_are_found() -> None:
    """The kernels beside these tests."""
    folder = Path(__file__).parent / "kernels"
    found = {k.name: k.kind for path in corpus_files(folder) for k in find_kernels(path)}
    assert found["attention_kernel"] == "kernel"
    assert found["_step"] == "helper"
    assert found["softmax_backward_kernel"] == "kernel"
