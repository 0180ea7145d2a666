"""`pytest --update-golden` writes what the program says today into the golden files, to be reviewed as a diff."""


def pytest_addoption(parser):
    parser.addoption("--update-golden", action="store_true", help="rewrite tests/golden/*.ir")
