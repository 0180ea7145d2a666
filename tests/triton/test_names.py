"""The list of Triton's surface against the live modules."""

from __future__ import annotations

import importlib
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest
import triton
import triton.language as tl

from tests.triton import names

ROOT = Path(__file__).resolve().parents[2]
DOCUMENT = names.collect([names.installed_folder()])
ENTRIES = {entry["name"]: entry for entry in DOCUMENT["entries"]}


def public(thing: object) -> set[str]:
    """Names without underscore, functions that only raise left out."""
    return {n for n in dir(thing) if not n.startswith("_")}


def test_version_is_the_installed_one() -> None:
    """The list says which release it is of."""
    assert DOCUMENT["triton"] == triton.__version__


@pytest.mark.parametrize(
    "prefix, module",
    [
        ("tl", tl),
        ("tl.math", tl.math),
        ("tl.tensor", tl.tensor),
        ("tl.tensor_descriptor", tl.tensor_descriptor),
        ("tl.dtype", tl.dtype),
        ("tl.constexpr", tl.constexpr),
        (
            "tl.extra.cuda.libdevice",
            importlib.import_module("triton.language.extra.cuda.libdevice"),
        ),
    ],
)
def test_nothing_public_is_missing(prefix: str, module: object) -> None:
    """Every public name of the live module is listed, unless it is gone or an import of a module's own."""
    gone = {"make_block_ptr", "advance"}
    inner = {"core", "wraps", "List", "T"}
    missing = {n for n in public(module) - gone - inner if f"{prefix}.{n}" not in ENTRIES}
    assert missing == set()


def test_no_name_is_invented() -> None:
    """Every listed name of `tl` and its modules exists."""
    importlib.import_module("triton.language.extra.libdevice")
    for name, entry in ENTRIES.items():
        if entry["kind"] in ("attribute", "property", "operator"):
            continue
        thing: object = triton if name.startswith("triton.") else tl
        for part in name.split(".")[1:]:
            assert hasattr(thing, part), name
            thing = getattr(thing, part)


def test_parameters_are_the_live_ones() -> None:
    """Names and order of parameters as Python's own inspection gives them."""
    checked = 0
    for name, entry in ENTRIES.items():
        if entry["kind"] not in ("builtin", "jit") or not name.startswith("tl."):
            continue
        thing: object = tl
        for part in name.split(".")[1:]:
            thing = getattr(thing, part)
        live = inspect.signature(getattr(thing, "fn", thing)).parameters
        expected = [p for p in live if p not in names.HIDDEN_PARAMETERS]
        assert [p["name"] for p in entry["params"]] == expected, name
        checked += 1
    assert checked > 150


def test_facts_of_single_entries() -> None:
    """Kinds, dtypes, overloads, aliases."""
    assert ENTRIES["tl.sum"]["kind"] == "jit"
    assert ENTRIES["tl.exp"]["dtypes"] == ["fp32", "fp64"]
    assert ENTRIES["tl.math.exp"]["same_as"] == "tl.exp"
    assert ENTRIES["tl.bfloat16"]["value"] == "bf16"
    tanh = ENTRIES["tl.extra.cuda.libdevice.tanh"]
    assert {"args": ["fp32"], "result": "fp32", "symbol": "__nv_tanhf"} in tanh["overloads"]
    assert ENTRIES["tl.tensor.T"]["kind"] == "property"
    assert [p["name"] for p in ENTRIES["tl.tensor.to"]["params"]][0] == "dtype"
    assert [p["name"] for p in ENTRIES["tl.tensor.sum"]["params"]][0] == "axis"


OLD = """
__version__ = "1.0.0"
from .language import core
"""


def test_history_over_two_releases(tmp_path: Path) -> None:
    """A name that went away, one that came, one whose parameters changed, one kept only to raise."""
    texts = {
        "1.0.0": "def old(x): return x\n\ndef f(x, y=1): return x\n\ndef gone(x): return x\n",
        "2.0.0": "def new(x): return x\n\ndef f(x, z=2): return x\n\n"
        "def gone(x):\n    'doc'\n    raise NotImplementedError('gone')\n",
    }
    folders = []
    for version, text in texts.items():
        language = tmp_path / version / "triton" / "language"
        language.mkdir(parents=True)
        (language.parent / "__init__.py").write_text(f'__version__ = "{version}"\n')
        (language / "__init__.py").write_text("from .core import *\nfrom .core import f, gone\n")
        (language / "core.py").write_text(text)
        folders.append(tmp_path / version)
    entries = {e["name"]: e for e in names.collect(folders)["entries"]}
    assert (entries["tl.core.old"]["since"], entries["tl.core.old"]["until"]) == ("1.0.0", "1.0.0")
    assert (entries["tl.core.new"]["since"], entries["tl.core.new"]["until"]) == ("2.0.0", None)
    assert entries["tl.gone"]["until"] == "1.0.0"
    history = entries["tl.f"]["history"]
    assert [step["params"][1]["name"] for step in history] == ["y", "z"]


def test_command_writes_json() -> None:
    """`python tests/triton/names.py` as other tools call it."""
    script = Path(names.__file__)
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, check=True, text=True, timeout=120
    )
    assert '"name": "tl.load"' in done.stdout


def test_names_of_other_libraries_are_not_tritons() -> None:
    """And what they are answered with is."""
    text = (ROOT / "analysis/ops/foreign_names.def").read_text()
    rows = re.findall(r'^FOREIGN\("(\w+)", "(.*)"\)$', text, re.MULTILINE)
    assert len(rows) == text.count("\nFOREIGN(")
    for name, instead in rows:
        assert not hasattr(tl, name), name
        for ours in re.findall(r"\btl\.(\w+)", instead):
            assert hasattr(tl, ours), instead
