"""Code actions: tests/actions/NAME.py with what is offered, and each edit as a diff, in NAME.actions beside it.

Whatever a quick fix leaves behind is compiled by the real Triton, which did not take part in making it.
"""

from __future__ import annotations

import ast
import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.triton.compile import CompileFailure, compile_many, compile_request
from tests.triton.corpus import find_kernels

ROOT = Path(__file__).resolve().parents[1]
ACTIONS = ROOT / "tests" / "actions"
BIN = Path(os.environ.get("TAD_BIN", ROOT / "build")).resolve()
OFFER = re.compile(r"^(?P<line>\d+): (?P<name>[a-z0-9-]+): ")
HUNK = re.compile(r"^@@ -(?P<start>\d+)(?:,(?P<count>\d+))? \+")
TYPES = {"n": "i32", "m": "i32", "stride": "i32", "i_ptr": "*i32"}


def dump(name: str) -> str:
    """What `--dump actions` says of one fixture."""
    run = subprocess.run(
        [BIN / "tad-lsp", "--dump", "actions", f"{name}.py"],
        cwd=ACTIONS,
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return run.stdout if name in ("backward", "nested") else without_backwards(run.stdout)


def without_backwards(text: str) -> str:
    """Emitted modules are shown in backward.actions and nested.actions alone."""
    kept, skips = [], False
    for line in text.split("\n"):
        match = OFFER.match(line)
        skips = (skips and not match) or bool(match and match["name"].startswith("backward-"))
        if match or not skips:
            kept.append(line)
    return "\n".join(kept)


NAMES = sorted(path.stem for path in ACTIONS.glob("*.py"))


@pytest.mark.parametrize("name", NAMES)
def test_golden(name: str, request: pytest.FixtureRequest) -> None:
    expected = ACTIONS / f"{name}.actions"
    actual = dump(name)
    if request.config.getoption("--update-golden"):
        expected.write_text(actual)
    assert actual == expected.read_text()


@dataclass(frozen=True)
class Offer:
    """One action with its diff."""

    file: str
    line: int
    name: str
    diff: tuple[str, ...]


def offers() -> list[Offer]:
    """Every action of every fixture."""
    found = []
    for name in NAMES:
        head, diff = None, []
        for line in [*(ACTIONS / f"{name}.actions").read_text().split("\n"), "0: end: "]:
            match = OFFER.match(line)
            if not match:
                diff.append(line)
                continue
            if head:
                found.append(Offer(name, int(head["line"]), head["name"], tuple(diff)))
            head, diff = match, []
    return found


def patched(text: str, diff: tuple[str, ...]) -> str:
    """The text after a unified diff."""
    old, new, at = text.split("\n"), [], 0
    for line in diff:
        hunk = HUNK.match(line)
        if hunk:
            start = int(hunk["start"]) - 1
            new += old[at:start]
            at = start
        elif line.startswith(("---", "+++", "\\")):
            continue
        elif line.startswith("+"):
            new.append(line[1:])
        elif line.startswith("-"):
            assert old[at] == line[1:]
            at += 1
        elif line.startswith(" "):
            new.append(old[at])
            at += 1
    return "\n".join(new + old[at:])


def table() -> dict[str, tuple[str, bool]]:
    """Name -> (kind, whether it fixes a diagnostic) of actions.def."""
    rows = re.findall(
        r'^ACTION\(\w+,\s*"([a-z0-9-]+)",\s*"([a-z.]+)",\s*("[a-z0-9*-]+"|NULL)',
        (ROOT / "codeactions" / "actions.def").read_text(),
        re.MULTILINE,
    )
    return {name: (kind, diagnostic != "NULL") for name, kind, diagnostic in rows}


def test_every_action_has_a_fixture() -> None:
    shown = {offer.name for offer in offers()}
    # `ignore` is offered everywhere and has a test of its own; Triton 3.9 removed nothing that has a plain successor.
    assert set(table()) - shown == {"ignore", "replace-removed"}
    assert sum(kind == "quickfix" for kind, _ in table().values()) >= 12


def test_what_actions_leave_is_python() -> None:
    for offer in offers():
        if any(line.startswith("@@") for line in offer.diff):
            ast.parse(patched((ACTIONS / f"{offer.file}.py").read_text(), offer.diff))


def test_no_offer_is_refused_when_it_is_taken() -> None:
    assert not [offer for offer in offers() if any("refused:" in line for line in offer.diff)]


def fixes() -> list[Offer]:
    """Quick fixes inside kernels."""
    return [offer for offer in offers() if table()[offer.name][0] == "quickfix"]


def kernel_at(path: Path, line: int) -> str | None:
    """The kernel around a line; below a decorator's line where it is one."""
    kernels = list(find_kernels(path))
    is_decorator = (
        path.read_text().split("\n")[line - 1].startswith(("@", "    configs", "    key"))
    )
    if is_decorator:
        return next(kernel.name for kernel in kernels if kernel.line > line)
    return next((kernel.name for kernel in reversed(kernels) if kernel.line <= line), None)


def test_what_fixes_leave_compiles(tmp_path: Path) -> None:
    requests, labels = [], []
    for number, offer in enumerate(fixes()):
        source = (ACTIONS / f"{offer.file}.py").read_text()
        path = tmp_path / f"fixed_{number}.py"
        path.write_text(patched(source, offer.diff))
        name = kernel_at(ACTIONS / f"{offer.file}.py", offer.line)
        if not name:
            continue
        kernel = next(found for found in find_kernels(path) if found.name == name)
        constexprs: dict[str, object] = {p.name: 64 for p in kernel.params if p.constexpr}
        types = {
            p.name: TYPES.get(p.name, "*fp32") for p in kernel.params if p.name not in constexprs
        }
        requests.append(compile_request(path, name, types, constexprs, until="ttir"))
        labels.append(f"{offer.file}.py:{offer.line} {offer.name}")
    results = compile_many(requests, processes=1)
    failed = {
        label: str(result)
        for label, result in zip(labels, results, strict=True)
        if isinstance(result, CompileFailure)
    }
    assert len(labels) >= 25
    assert not failed
