"""Writes the results of `coverage.py` as a Markdown document."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.triton.coverage import FileResult, Row

GRADIENT_NAME = re.compile(r"(^|_)(bwd|backward|grad|dgrad|wgrad)", re.IGNORECASE)
MOST = 40  # rows of a list of reasons
DERIVED = ("proved", "derived", "failed")
SECOND_PART = "# Public repositories"  # what `repositories.py` writes below what is written here

HEAD = """# Coverage

What tad-lsp makes of every kernel of the packages in `tests/corpus-requirements.txt`.{left_out}
`make coverage-doc` measures and writes this page; nothing in it is written by hand.

- *understood*: every value of the kernel has a type. Helpers are counted where kernels call them.
- *forward*: launched kernels that store something. Kernels that are themselves a hand-written backward (by
  their name) are counted apart: they can be differentiated too, but nobody needs it as often.
- *not differentiable*: no floating-point input reaches a floating-point output through operations with a
  derivative (quantising, integer, comparing and index kernels).
- *compiles*: the real Triton, {triton}, for sm_90, accepts the emitted backward with the types and constexpr values
  that its forward compiles with, all the way to a cubin (to verified IR where that takes more than a minute).
  A forward that Triton itself does not compile as guessed is counted apart (*forward does not*); one with block
  pointers, which Triton 3.9 no longer has, is taken as it is: its backward has none.
- *proved*: by `--check --grad` with {seconds} s for each kernel and no configuration but what is in the package.
- *wrong*: the proof contradicts the derivative, or its configuration is one that the kernel is not made for.
"""


def split_page(page: str) -> tuple[str, str]:
    """What is said of the packages, and what of the repositories."""
    first, title, second = page.partition(f"\n{SECOND_PART}\n")
    return (f"{first}\n", f"{SECOND_PART}\n{second}") if title else (f"{page.rstrip()}\n\n", "")


def percent(part: int, whole: int) -> str:
    """A share as text."""
    return f"{100 * part / whole:.1f} %" if whole else "-"


def package_of(row: Row) -> str:
    """The top folder."""
    return row.file.partition("/")[0]


def is_handwritten_backward(row: Row) -> bool:
    """By its name."""
    return GRADIENT_NAME.search(row.name) is not None


def count(rows: Iterable[Row], test: Callable[[Row], bool]) -> int:
    """How many rows pass."""
    return sum(1 for row in rows if test(row))


def is_compiled(row: Row) -> bool:
    """The real Triton accepts the derived backward."""
    return row.status in DERIVED and row.backward == "ok"


def forward_table(rows: list[Row]) -> list[str]:
    """Per package and in total, what became of the forward kernels."""
    lines = [
        "| package | kernels | understood | forward | not differentiable | differentiable | derived "
        "| compiles | forward does not | proved | wrong | refused |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    names = sorted({package_of(row) for row in rows})
    for name in [*names, ""]:
        part = [row for row in rows if name in ("", package_of(row))]
        lines.append(forward_line(name or "**total**", part))
    return lines


def forward_line(name: str, rows: list[Row]) -> str:
    """One line of the table."""
    kernels = [row for row in rows if not row.helper]
    forward = [row for row in kernels if row.status]
    flat = count(forward, lambda r: r.status == "not-differentiable")
    smooth = [row for row in forward if row.status != "not-differentiable"]
    derived = count(smooth, lambda r: r.status in DERIVED)
    apart = count(smooth, lambda r: r.status in DERIVED and r.forward not in ("ok", ""))
    compiled = count(smooth, is_compiled)
    proved = count(smooth, lambda r: r.status == "proved")
    wrong = count(smooth, lambda r: r.status == "failed")
    refused = count(smooth, lambda r: r.status == "refused")
    understood = count(kernels, lambda r: r.understood)
    cells = [
        f"{len(kernels)}",
        f"{understood} ({percent(understood, len(kernels))})",
        f"{len(forward)}",
        f"{flat}",
        f"{len(smooth)}",
        f"{derived} ({percent(derived, len(smooth))})",
        f"{compiled} ({percent(compiled, len(smooth) - apart)})",
        f"{apart}",
        f"{proved} ({percent(proved, len(smooth))})",
        f"{wrong}",
        f"{refused}",
    ]
    return f"| {name} | " + " | ".join(cells) + " |"


def general(reason: str) -> str:
    """A reason without names and numbers, so that equal ones add up."""
    reason = re.sub(r"`[^`]*`", "`…`", reason)
    reason = re.sub(r"^(no configuration runs: )\S+, ", r"\1", reason)
    reason = re.sub(r"gradient of \S+", "gradient of …", reason)
    reason = re.sub(r"of \w+_ptr\b", "of …", reason)
    return re.sub(r"-?\d+(\.\d+)?(e[-+]?\d+)?", "N", reason)


def reasons(rows: Iterable[Row], text: Callable[[Row], str], title: str) -> list[str]:
    """A list of reasons by how often they are given, each with a kernel."""
    counts: Counter[str] = Counter()
    example: dict[str, Row] = {}
    for row in rows:
        key = general(text(row)) or "no reason given"
        counts[key] += 1
        example.setdefault(key, row)
    if not counts:
        return []
    lines = ["", f"## {title}", "", "| kernels | reason | for example |", "|--:|---|---|"]
    for key, number in counts.most_common(MOST):
        row = example[key]
        cell = key.replace("|", "\\|").replace("\n", " ")
        lines.append(f"| {number} | {cell} | {row.file}:{row.line} {row.name} |")
    left = len(counts) - MOST
    if left > 0:
        total = sum(n for _, n in counts.most_common()[MOST:])
        lines.append(f"| {total} | {left} other reasons | |")
    return lines


def texts(title: str, entries: list[str]) -> list[str]:
    """A plain list, or nothing."""
    return (
        ["", f"## {title}", "", *(f"- {' '.join(e.split())}" for e in entries)] if entries else []
    )


def gap_text(row: Row) -> str:
    """What was not understood, without the place."""
    return re.sub(r"^\S+:\d+: ", "", row.gap)


def document(
    results: list[FileResult],
    crashes: list[str],
    left_out: list[str],
    triton: str,
    seconds: int = 5,
) -> str:
    """The whole page; `triton`: the release that compiled."""
    rows = [row for result in results for row in result.rows]
    kernels = [row for row in rows if not row.helper]
    own = [row for row in kernels if row.status and not is_handwritten_backward(row)]
    crashes = crashes + [text for result in results for text in result.crashes]
    wrong_errors = [text for result in results for text in result.wrong_errors]
    other_errors = [text for result in results for text in result.other_errors]
    said = f" Not measured here: {', '.join(left_out)}." if left_out else " Nothing is left out."
    lines = [HEAD.format(seconds=seconds, left_out=said, triton=triton)]
    lines += [
        f"{len(results)} files with kernels, {len(rows)} jit functions: "
        f"{len(kernels)} kernels and {len(rows) - len(kernels)} helpers. "
        f"Backwards compiled to a cubin: {count(rows, lambda r: r.cubin)}.",
        f"Crashes and time-outs: {len(crashes)}. Errors reported on kernels that Triton compiles: {len(wrong_errors)}.",
        "",
        "## Forward kernels",
        "",
        *forward_table([r for r in rows if not is_handwritten_backward(r)]),
        "",
        "## Hand-written backward kernels, differentiated once more",
        "",
        *forward_table([r for r in rows if is_handwritten_backward(r)]),
    ]
    lines += texts("Crashes and time-outs", crashes)
    lines += texts("Errors on kernels that Triton compiles", wrong_errors)
    lines += texts("Errors on kernels that Triton does not compile as guessed", other_errors)
    failed = [row for row in kernels if row.status == "failed"]
    lines += texts("Wrong gradients", [f"{r.file}:{r.line} {r.name}: {r.reason}" for r in failed])
    lines += reasons((r for r in own if r.status == "refused"), lambda r: r.reason, "Why refused")
    lines += reasons(
        (r for r in own if r.status == "derived"), lambda r: r.reason, "Why derived but not proved"
    )
    lines += reasons(
        (r for r in own if r.status == "not-differentiable"),
        lambda r: r.reason,
        "Why not differentiable",
    )
    rejected = [r for r in own if r.status in DERIVED and r.forward == "ok" and r.backward != "ok"]
    lines += reasons(
        rejected, lambda r: f"{r.backward} {r.backward_line}", "Emitted text that Triton refuses"
    )
    apart = [r for r in own if r.status in DERIVED and r.forward not in ("", "ok")]
    lines += reasons(
        apart, lambda r: r.forward, "Forward kernels that Triton does not compile as guessed"
    )
    partly = [row for row in kernels if not row.understood]
    lines += reasons(partly, gap_text, "What is not understood")
    return "\n".join(lines) + "\n"
