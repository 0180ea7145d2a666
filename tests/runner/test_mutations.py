"""Every mistake in a backward must be refuted: a mutant that is proved is a hole in the gradient check.

The backwards are those that tad-lsp writes for kernels of examples/ and tests/emitted/kernels/. mutations.py makes
the mistakes.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.emitted.plan import ROOT, Runner, derived
from tests.runner.mutations import Mutant, mutants_of

KERNELS = [
    ("activations", "geglu_kernel"),
    ("activations", "silu_kernel"),
    ("attention_variants", "sigmoid_attention_kernel"),
    ("cross_entropy", "cross_entropy_kernel"),
    ("cumsum", "cumsum_kernel"),
    ("embedding", "embedding_kernel"),
    ("layer_norm", "layer_norm_kernel"),
    ("layer_norm", "layer_norm_row_kernel"),
    ("matmul", "matmul_descriptor_kernel"),
    ("reductions", "row_sum_kernel"),
    ("rms_norm", "rms_norm_kernel"),
    ("rotary", "rotary_kernel"),
    ("softmax", "online_softmax_kernel"),
    ("softmax", "softmax_kernel"),
    ("state_space", "recurrence_kernel"),
    ("recurrences", "channels"),
    ("recurrences", "delta_rule"),
]
FOLDERS = [ROOT / "examples", ROOT / "tests" / "emitted" / "kernels"]
OF_A_KIND = 2  # of one kernel are tried
LEAST = 250
SECONDS = 10
# Refuted without a number: what Triton would not compile, what does not run, and what is not finite.
REFUSALS = (
    "the backward does not lower",
    "the backward does not run",
    "is not finite",
    "is stored by two programs",
)
# Mistakes that change nothing, by the line that they leave.
PACKED = "the other half of the packed row is read, and not used"
CENTRED = "the sum is 0: the rows are centred"
GAUGE = "softmax does not see a common shift"
OWN = "nothing else adds to these elements before"
WITHIN = "the labels of a proof lie within their rows"
TWICE = "the program that is one too many stores what another does"
FEWER = "fewer states are kept than there is room for"
EQUAL = {
    "every = ((n + tape_steps)) // tape_steps": FEWER,
    "every = (((n + tape_steps) + (1))) // tape_steps": FEWER,
    "for t in range(n - (1)):": "the state of the last turn is computed from one that is kept",
    "gate = tl.load(packed_ptr + cols).to(tl.float32)": PACKED,
    "value = tl.load(packed_ptr + n_cols + cols).to(tl.float32)": PACKED,
    "total = tl.sum(tl.where(mask, quotient * (x - mean) * 4.0, 0.0))": CENTRED,
    "total = tl.sum(tl.where(mask, (x - mean) * 2.0, 0.0))": CENTRED,
    "total = tl.sum(tl.where(x_mask, quotient * (x - mean) * 4.0, 0.0))": CENTRED,
    "total = tl.sum(tl.where(x_mask, (x - mean) * 2.0, 0.0))": CENTRED,
    "acc -= tl.where(mask, difference * 4.0, 0.0)": CENTRED,
    "dmean_1 -= tl.where(mask, difference * 4.0, 0.0)": CENTRED,
    '(label >= 0) & ((label <= n_cols)) | (dpicked == 0.0), 0.0, float("nan")': WITHIN,
    "if (group <= groups):": TWICE,
    "programs = tl.cdiv((all_programs), seq_len)": "each batch has all positions",
    "h = h0": "the state is 0 before",
    "numerator = tl.exp(((x) + (tl.max(x, axis=0))))": GAUGE,
    "numerator = tl.exp((x))": GAUGE,
    '(label >= 0) | (dpicked == 0.0), 0.0, float("nan")': WITHIN,
    '(label < n_cols) | (dpicked == 0.0), 0.0, float("nan")': WITHIN,
    "tl.store(ptrs_2 + HALF, dx2, mask=mask)": OWN,
    "tl.store(ptrs_2, dx1, mask=mask)": OWN,
}


def sampled(mutants: list[Mutant]) -> list[Mutant]:
    """A few mutants of each kind, spread over the text."""
    kinds: dict[str, list[Mutant]] = {}
    for mutant in mutants:
        kinds.setdefault(mutant.kind, []).append(mutant)
    chosen = []
    for some in kinds.values():
        step = max(1, len(some) // OF_A_KIND)
        chosen += some[::step][:OF_A_KIND]
    return chosen


def proof_of(file: str, kernel: str) -> dict:
    """The request for the proof of a kernel."""
    path = next(p for p in (folder / f"{file}.py" for folder in FOLDERS) if p.exists())
    return {**derived(path)[1][kernel], "max_seconds": SECONDS}


def with_backward(proof: dict, text: str) -> dict:
    """The same request about another text."""
    return {**proof, "backward": {**proof["backward"], "source": text}}


@pytest.fixture(scope="module")
def runner() -> Iterator[Runner]:
    """One worker for all."""
    started = Runner()
    yield started
    started.close()


@pytest.mark.parametrize(("file", "kernel"), KERNELS)
def test_mutants_are_refuted(runner: Runner, file: str, kernel: str) -> None:
    """The backward is proved, and none of its mutants is."""
    proof = proof_of(file, kernel)
    assert runner.ask("gradcheck", proof)["status"] == "proved"
    survivors = []
    for mutant in sampled(mutants_of(proof["backward"]["source"])):
        answer = runner.ask("gradcheck", with_backward(proof, mutant.text))
        if answer["status"] == "failed" or mutant.after in EQUAL:
            continue
        if not any(refusal in answer["reason"] for refusal in REFUSALS):
            survivors.append((mutant.kind, mutant.before, mutant.after, answer["reason"]))
    assert survivors == []


def test_there_are_mutants_of_every_kind() -> None:
    """So that no mistake is left out because its pattern no longer fits what is written."""
    chosen = []
    for file, kernel in KERNELS:
        chosen += sampled(mutants_of(proof_of(file, kernel)["backward"]["source"]))
    assert len(chosen) >= LEAST
    assert {mutant.kind for mutant in chosen} == {
        "+= to =",
        "drop condition",
        "drop factor",
        "drop function",
        "drop mask",
        "drop store",
        "drop term",
        "flip sign",
        "move bound",
        "move comparison",
        "no atomic",
        "stale index",
        "swap dot",
        "wrong axis",
        "wrong constant",
        "wrong program",
    }
