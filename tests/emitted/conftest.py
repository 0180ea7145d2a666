"""One tad-runner and one interpreting Triton for all tests of a process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.emitted.plan import Runner
from tests.support.worker import Worker
from tests.triton import interpret


@pytest.fixture(scope="session")
def runner() -> Iterator[Runner]:
    """A real tad-runner."""
    program = Runner()
    yield program
    program.close()


@pytest.fixture(scope="session")
def interpreter() -> Iterator[Worker]:
    """Triton's interpreter."""
    with interpret.make_worker() as worker:
        yield worker
