"""`pytest --update-golden` writes what the program says today into the golden files, to be reviewed as a diff.

Every derivation of the tests verifies the tile IR after each pass (autodiff/passes.def).

A run of everything takes a seeded sample of the long tables (`@pytest.mark.sampled(SHARE)`); the seed is the commit's,
so that each commit tries other rows, and a run of one commit can be repeated. `TAD_ALL_ROWS=1` (`make test-all`)
takes all rows, and so does a run that names a file, a test or `-k`.
"""

from __future__ import annotations

import os
import random
import subprocess
from collections import defaultdict
from pathlib import Path

import pytest

os.environ["TAD_VERIFY_PASSES"] = "1"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Options of ours."""
    parser.addoption("--update-golden", action="store_true", help="rewrite tests/golden/*.ir")


def seed_of_commit() -> str:
    """TAD_SEED, else the commit; "0" without either."""
    if given := os.environ.get("TAD_SEED"):
        return given
    command = ["git", "-C", str(Path(__file__).parent), "rev-parse", "HEAD"]
    try:
        run = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        return "0"
    return run.stdout.strip()[:12] or "0"


def sample_seed(config: pytest.Config) -> str:
    """The seed of a run of everything; empty where all rows are wished for. Workers of xdist are told."""
    if (told := getattr(config, "workerinput", None)) is not None:
        return told["sample_seed"]
    whole = config.args_source is pytest.Config.ArgsSource.TESTPATHS and not config.option.keyword
    return seed_of_commit() if whole and not os.environ.get("TAD_ALL_ROWS") else ""


def drawn(rows: list, share: float, seed: str) -> list:
    """So many of them, at least one, in their order; all of them without a seed."""
    if not seed:
        return rows
    taken = random.Random(seed).sample(range(len(rows)), max(1, round(share * len(rows))))
    return [rows[i] for i in sorted(taken)]


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: object) -> None:
    """Tells a worker."""
    node.workerinput["sample_seed"] = sample_seed(node.config)


def pytest_configure(config: pytest.Config) -> None:
    """Declares the mark."""
    config.addinivalue_line(
        "markers", "sampled(share): a run of everything takes this share of the rows, at least one"
    )


def pytest_report_header(config: pytest.Config) -> str | None:
    """Says how to repeat the run."""
    seed = sample_seed(config)
    return f"long tables: a sample, TAD_SEED={seed}" if seed else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out what is not in the sample."""
    seed = sample_seed(config)
    if not seed:
        return
    tables: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        if item.get_closest_marker("sampled"):
            tables[item.nodeid.split("[")[0]].append(item)
    left_out: set[pytest.Item] = set()
    for name, rows in tables.items():
        mark = rows[0].get_closest_marker("sampled")
        assert mark
        left_out |= set(rows) - set(drawn(rows, mark.args[0], f"{seed} {name}"))
    config.hook.pytest_deselected(items=[item for item in items if item in left_out])
    items[:] = [item for item in items if item not in left_out]
