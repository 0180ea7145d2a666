"""`pytest --update-golden` writes what the program says today into the golden files, to be reviewed as a diff.

Every derivation of the tests verifies the tile IR after each pass (autodiff/passes.def)."""

import os

os.environ["TAD_VERIFY_PASSES"] = "1"


def pytest_addoption(parser):
    parser.addoption("--update-golden", action="store_true", help="rewrite tests/golden/*.ir")
