"""A fixed sample of the corpus through the whole pipeline: nothing gets worse without being noticed."""

from __future__ import annotations

import pytest

from tests.triton import coverage
from tests.triton.coverage import FileResult, Row

# What the sample yielded when this was last raised; more is better.
UNDERSTOOD, DERIVED, COMPILED, PROVED = 29, 22, 14, 20


@pytest.fixture(scope="module")
def results() -> list[FileResult]:
    """The sample, examined."""
    files = coverage.sample_files()
    assert len(files) >= 20
    return coverage.examine(files)


def kernels(results: list[FileResult]) -> list[Row]:
    """All kernels of the sample."""
    return [row for result in results for row in result.rows if not row.helper]


def test_nothing_crashes(results: list[FileResult]) -> None:
    """No crash, no time-out, no internal error."""
    assert [text for result in results for text in result.crashes] == []


def test_no_error_on_what_triton_compiles(results: list[FileResult]) -> None:
    """Error diagnostics only where Triton has one too."""
    assert [text for result in results for text in result.wrong_errors] == []


def test_no_gradient_is_wrong(results: list[FileResult]) -> None:
    """No proof contradicts its derivative."""
    wrong = [f"{r.file}:{r.name}: {r.reason}" for r in kernels(results) if r.status == "failed"]
    assert wrong == []


def test_triton_accepts_the_emitted_kernels(results: list[FileResult]) -> None:
    """Whatever is derived from a forward that compiles compiles."""
    refused = [
        f"{r.file}:{r.name}: {r.backward} {r.backward_line}"
        for r in kernels(results)
        if r.forward == "ok" and r.backward != "ok"
    ]
    assert refused == []


def test_not_less_than_before(results: list[FileResult]) -> None:
    """Counts do not fall below what was reached."""
    rows = kernels(results)
    counts = {
        "understood": sum(r.understood for r in rows),
        "derived": sum(r.status in ("proved", "derived") for r in rows),
        "compiled": sum(r.backward == "ok" for r in rows),
        "proved": sum(r.status == "proved" for r in rows),
    }
    floors = {
        "understood": UNDERSTOOD,
        "derived": DERIVED,
        "compiled": COMPILED,
        "proved": PROVED,
    }
    assert {n: c for n, c in counts.items() if c < floors[n]} == {}
