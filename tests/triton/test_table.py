"""The operation table against the installed Triton: no public name missing, no parameter misspelt."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support import optable
from tests.triton import names

DOCUMENT = names.collect([names.installed_folder()])
ENTRIES: dict[str, dict[str, Any]] = {entry["name"]: entry for entry in DOCUMENT["entries"]}
CALLABLE = {"builtin", "jit", "function", "extern"}
PREFIXES = ("tl.", "tl.math.", "tl.random.", "tl.extra.libdevice.", "tl.extra.cuda.libdevice.")
# Parameters that releases before 3.9 had, which the table keeps for them.
OLDER_PARAMETERS = {
    "load": {"boundary_check", "padding_option"},
    "store": {"boundary_check"},
}
# The same default under another name.
DEFAULTS = {"CONSTEXPR_0": "False", "N_ROUNDS_DEFAULT": "10"}


def direct_names(prefix: str, kinds: set[str]) -> list[str]:
    """Public names right under a prefix."""
    found = []
    for name, entry in ENTRIES.items():
        rest = name.removeprefix(prefix)
        if name.startswith(prefix) and "." not in rest and not rest.startswith("_"):
            if entry["kind"] in kinds:
                found.append(name)
    return found


FUNCTIONS = [name for prefix in PREFIXES for name in direct_names(prefix, CALLABLE | {"class"})]
TENSOR_METHODS = direct_names("tl.tensor.", {"method"})
DESCRIPTOR_METHODS = direct_names("tl.tensor_descriptor.", {"method"})


def entry_parameters(name: str) -> list[dict[str, Any]]:
    """Parameters of an entry or of what it is an alias of."""
    entry = ENTRIES[name]
    return ENTRIES[entry.get("same_as", name)].get("params", [])


def plain_default(text: str | None) -> str | None:
    """A default without the spelling of the module it stands in."""
    if text is None:
        return None
    text = text.replace('"', "'").removeprefix("core.").removeprefix("tl.")
    return DEFAULTS.get(text, text)


def described(parameters: Any) -> list[tuple[str, str | None]]:
    """(name, default) pairs of either side."""
    pairs = []
    for parameter in parameters:
        if isinstance(parameter, optable.Parameter):
            pairs.append((parameter.name, plain_default(parameter.default)))
        else:
            pairs.append((parameter["name"], plain_default(parameter.get("default"))))
    return pairs


def row_parameters(row: optable.Row) -> list[optable.Parameter]:
    """The row's parameters as the newest release has them."""
    older = OLDER_PARAMETERS.get(row.name, set())
    return [parameter for parameter in row.parameters if parameter.name not in older]


def test_there_is_something_to_compare() -> None:
    """Guards the guards: an empty list would pass everything."""
    assert len(FUNCTIONS) > 450
    assert len(TENSOR_METHODS) > 50
    assert len(DESCRIPTOR_METHODS) == 10


@pytest.mark.parametrize("prefix", PREFIXES)
def test_no_public_name_is_missing(prefix: str) -> None:
    """Every function and class of the language has its row."""
    mine = [
        name for name in FUNCTIONS if name.startswith(prefix) and "." not in name[len(prefix) :]
    ]
    missing = [name for name in mine if optable.find(name.removeprefix("tl.")) is None]
    assert missing == []


def test_no_method_is_missing() -> None:
    """Every method of tensors and of tensor descriptors has its row."""
    missing = [n for n in TENSOR_METHODS if n.removeprefix("tl.tensor.") not in optable.methods()]
    for name in DESCRIPTOR_METHODS:
        if "descriptor." + name.removeprefix("tl.tensor_descriptor.") not in optable.methods():
            missing.append(name)
    assert missing == []


def test_no_parameter_is_misspelt() -> None:
    """Names, order and defaults of every row that is named as Triton names it."""
    wrong = []
    for row in optable.rows():
        libdevice = row.name.startswith("libdevice.")
        name = "tl." + ("extra." + row.name if libdevice else row.name)
        if not row.name or row.until or name not in ENTRIES:
            continue
        if ENTRIES[name]["kind"] == "class" and not entry_parameters(name):
            continue
        theirs, ours = described(entry_parameters(name)), described(row_parameters(row))
        if theirs != ours:
            wrong.append((name, theirs, ours))
    assert wrong == []


def test_aliases_take_as_many_arguments() -> None:
    """An alias stands for its row, so it has the same required parameters."""
    wrong = []
    for row in optable.rows():
        required = [p for p in row.parameters if p.default is None and not p.stars]
        for alias in row.aliases:
            name = "tl." + ("extra." + alias if alias.startswith("libdevice.") else alias)
            if name not in ENTRIES:
                continue
            theirs = [p for p in entry_parameters(name) if "default" not in p]
            variadic = any(p["kind"] == "var_positional" for p in theirs)
            if not variadic and len(theirs) != len(required):
                wrong.append((alias, len(theirs), len(required)))
    assert wrong == []


def test_methods_take_the_rest_of_the_parameters() -> None:
    """A method's parameters are those of its function without the first."""
    wrong = []
    for name in TENSOR_METHODS:
        row = optable.methods()[name.removeprefix("tl.tensor.")]
        theirs = described(entry_parameters(name))
        ours = described(row_parameters(row)[1:])
        if row.symbol:
            continue  # an operator under a name: x.logical_and(y)
        if [n for n, _ in theirs] != [n for n, _ in ours]:
            wrong.append((name, theirs, ours))
    assert wrong == []


def test_no_row_is_invented() -> None:
    """A row without UNTIL has a name that the installed Triton has."""
    invented = []
    for row in optable.rows():
        libdevice = row.name.startswith("libdevice.")
        name = "tl." + ("extra." + row.name if libdevice else row.name)
        if row.name and not row.until and name not in ENTRIES:
            invented.append(row.name)
    assert invented == []


def test_removed_names_are_gone() -> None:
    """A row with UNTIL is not in the installed release, and says what to use instead."""
    for row in optable.rows():
        if row.until:
            assert "tl." + row.name not in ENTRIES, row.name
            assert row.instead, row.name
