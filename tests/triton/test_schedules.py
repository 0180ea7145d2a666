"""The count of kernels whose gradients need no atomics: classes by structure, and what is said of each."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.triton import schedules, structure

EXAMPLES = Path(__file__).parent.parent.parent / "examples"


@pytest.mark.parametrize(
    ("file", "classes"),
    [
        ("matmul.py", {"matmul_kernel": "other matmul", "linear_kernel": "swizzled matmul"}),
        ("attention_two_stage.py", {"causal_attention_kernel": "attention-like"}),
        ("linear_attention.py", {"linear_attention_kernel": "scan, recurrence"}),
        ("rms_norm.py", {"rms_norm_kernel": "norm"}),
        ("softmax.py", {"softmax_kernel": "softmax, loss"}),
        ("dropout.py", {"seeded_dropout_kernel": "element by element"}),
    ],
)
def test_class(file: str, classes: dict[str, str]) -> None:
    found = {row.name: row.kind for row in schedules.schedules_of(file, EXAMPLES, False)}
    assert {name: found.get(name) for name in classes} == classes, found


ADDED = """import triton
import triton.language as tl


@triton.jit
def {name}(x_ptr, index_ptr, y_ptr, n, B: tl.constexpr):
    {lanes} = tl.program_id(0) * B + tl.arange(0, B)
    rows = tl.load(index_ptr + {lanes}, mask={lanes} < n, other=0)
    tl.store(y_ptr + {lanes}, tl.load(x_ptr + rows), mask={lanes} < n)
"""


def test_equal_kernels_count_once(tmp_path: Path) -> None:
    """Names make no difference; what is said has the gradient and the reason."""
    for name, lanes in (("gather", "lanes"), ("other", "at")):
        text = ADDED.format(name=name, lanes=lanes)
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
    rows = [
        row
        for file in ("gather.py", "other.py")
        for row in schedules.schedules_of(file, tmp_path, False)
    ]
    assert len(rows) == 2
    (row,) = schedules.once(rows)
    assert (row.atomics, row.is_free) == (1, False)
    assert [gradient for gradient, _ in row.reasons] == ["x_ptr"]
    assert "depends on loaded data" in schedules.reasons([row])[-1]
    assert "| 1 | 1 | 0 | 0.0 % |" in schedules.table([row])[-1]


def test_every_class_has_a_test_of_its_own() -> None:
    assert len({name for name, _, _ in structure.CLASSES}) == len(structure.CLASSES)
