"""Kernels without a configuration: what their values are is found out, and their gradients are proved."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.emitted.plan import Runner, derived, tad

FILES = sorted((Path(__file__).parent / "unconfigured").glob("*.py"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_gradient_is_proved(file: Path) -> None:
    """Nothing is refused, wrong or left open."""
    report = json.loads(tad("--check", "--grad", "-f", "json", file).stdout)
    kernels = report["kernels"]
    assert kernels
    open_ones = {k["name"]: k["reason"] for k in kernels if k["status"] != "proved"}
    assert not open_ones
    assert not [entry for entry in report["diagnostics"] if entry["severity"] == "error"]


def test_integers_have_no_gradient() -> None:
    """What adds up in int32 is of integers, also where it multiplies floats besides."""
    file = Path(__file__).parent / "unconfigured" / "integers.py"
    text = tad("--backward", "--no-proof", "--wrapper", "none", file).stdout
    assert "dc_ptr" in text and "dscale_ptr" in text
    assert "da_ptr" not in text and "db_ptr" not in text


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("dw_ptr + column + dw_offset", "dw_ptr + column"),  # several programs share it
        (
            "dx, mask=mask & w_mask & inside[:, None])",
            "dx, mask=inside[:, None])",
        ),  # the next row's elements, which this program never read
    ],
)
def test_a_gradient_without_an_owner_is_wrong(right: str, wrong: str) -> None:
    """Programs that meet in a gradient are forgiven only where the forward's meet for want of whole tiles."""
    file = Path(__file__).parent / "unconfigured" / "even_tiles.py"
    proof = derived(file)[1]["scaled_rows"]
    text = proof["backward"]["source"]
    assert right in text, text
    runner = Runner()
    broken = {**proof["backward"], "source": text.replace(right, wrong)}
    answer = runner.ask("gradcheck", {**proof, "backward": broken})
    runner.close()
    assert answer["status"] == "failed", answer["reason"]


def test_quotients_of_sizes_are_lengths_of_ranges() -> None:
    """The launcher's own sizes are chosen so that `query_heads // heads` is a power of two."""
    file = Path(__file__).parent / "unconfigured" / "quotients.py"
    runner = Runner()
    answer = runner.ask("gradcheck", derived(file)[1]["grouped_scores"])
    runner.close()
    proved = {c["source"] for c in answer["configurations"] if c["status"] == "proved"}
    assert "launcher" in proved, answer["discarded"]


def test_a_number_that_the_kernel_multiplies_by_is_given() -> None:
    """`scale: float | None = None` of a launcher is a number where the kernel takes nothing else."""
    file = Path(__file__).parent / "unconfigured" / "optional_numbers.py"
    runner = Runner()
    answer = runner.ask("gradcheck", derived(file)[1]["scaled"])
    runner.close()
    assert {c["source"] for c in answer["configurations"]} == {"launcher"}, answer["discarded"]


def test_after_one_that_is_too_dear_others_that_are_too_are_left_out() -> None:
    """No steps are spent on launches, one after the other, that are as dear."""
    file = Path(__file__).parents[2] / "examples" / "layer_norm.py"
    runner = Runner()
    request = {**derived(file)[1]["layer_norm_kernel"], "max_steps": 5_000_000}
    answer = runner.ask("gradcheck", request)
    runner.close()
    assert answer["status"] == "proved", answer["reason"]
