"""What a result means for the user: right, refused, loud, or a fault of one of several kinds."""

from __future__ import annotations

import re

# What is not accepted, the worst first.
FAULTS = ("silent", "crash", "hang", "unclear", "unnamed", "broken")
VERDICTS = ("right", "refused", "loud", *FAULTS)


def named(said: str, warnings: list[str], names: list[str]) -> bool:
    """Whether a finding names one of these kernels or launchers."""
    lines = [line for line in said.splitlines() if "gradients proved" not in line] + warnings
    pattern = re.compile("|".join(rf"\b{re.escape(name)}\b" for name in names)) if names else None
    return bool(pattern and any(pattern.search(line) for line in lines))


def names_of(call: dict, result: dict) -> list[str]:
    """Kernels that the call launched, and functions that it calls."""
    text = call["call"] if isinstance(call, dict) else call.call
    return result.get("kernels", []) + re.findall(r"\bm\.(\w+)", text)


def judge(
    status: int, said: str, warnings: list[str], call: object, result: dict
) -> tuple[str, str]:
    """One of VERDICTS, and why; what is not as the call expects is a fault."""
    verdict, reason = verdict_of(status, said, warnings, call, result)
    expected = call.get("expect", "") if isinstance(call, dict) else call.expect
    if expected and verdict not in (expected, *FAULTS):
        return "unclear", f"{verdict}, not {expected}: {reason}"
    return verdict, reason


def verdict_of(
    status: int, said: str, warnings: list[str], call: object, result: dict
) -> tuple[str, str]:
    """What became of a call, whatever it expects."""
    outcome, detail = result["outcome"], result.get("detail", "")
    if status == 2 and "has no Triton kernel" in said and outcome == "nothing written":
        return "refused", "all kernels are in other files"
    if status not in (0, 1):
        return "crash", f"tad-lsp ended with {status}: {said[-300:]}"
    if outcome == "broken":
        return "broken", detail
    is_named = named(said, warnings, names_of(call, result))
    if status == 1 and is_named:
        return "refused", "although right" if outcome == "right" else outcome
    if outcome == "right":
        return "right", ""
    if outcome == "loud":
        return "loud", detail
    if outcome == "wrong":
        return "silent", detail
    if outcome in ("crash", "hang"):
        return outcome, detail
    if status == 1:
        return "unnamed", f"{outcome} {detail}; said: {said[-300:]}"
    return "unclear", f"{outcome} {detail}"
