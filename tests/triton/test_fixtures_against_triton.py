"""The real Triton agrees with the fixtures: what is marked as an error does not compile, all the rest does."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from tests.fixture_files import fixture_files, functions, reported_in
from tests.triton.compile import CompiledKernel, CompileFailure, compile_many, compile_request
from tests.triton.corpus import find_kernels

# Host-side findings, names of other releases and builds, and constructs that only the analysis does not know.
NOT_COMPILED = {
    "instances",
    "language_hints",
    "language_other_build",
    "language_star_elsewhere",
    "templates",
    "trials",
    "true_on_public_code",
}
NOT_COMPILED |= {"tuning_key", "lanes", "block_pointers"}
TYPES = {
    "x_ptr": "*fp32",
    "y_ptr": "*fp32",
    "w_ptr": "*fp32",
    "i_ptr": "*i32",
    "label_ptr": "*i32",
    "ignored": "i32",
    "s_ptr": "*u8",
    "t_ptr": "*u8",
    "a_ptr": "*i8",
    "packed_ptr": "*i8",
    "b_ptr": "*i8",
    "scale_ptr": "*fp32",
    "weight_ptr": "*fp32",
    "bias_ptr": "*fp32",
    "sum_ptr": "*fp32",
    "count_ptr": "*fp32",
    "largest_ptr": "*fp32",
    "turn_ptr": "*i32",
    "out_ptr": "*fp32",
    "K": "i32",
    "n": "i32",
    "m": "i32",
    "stride": "i32",
    "start": "i32",
    "scale": "fp32",
    "M": "i32",
    "C": "i32",
    "T": "i32",
    "rows": "i32",
    "dim": "i32",
    **dict.fromkeys(("k", "v", "g", "o", "X", "W", "B", "Y", "Rstd"), "*fp32"),
    **dict.fromkeys(("grad_ptr", "input_ptr", "target_ptr", "q_ptr", "k_ptr", "v_ptr"), "*fp32"),
    **dict.fromkeys(("table_ptr", "rows_ptr", "group_ptr", "place_ptr"), "*i32"),
    **dict.fromkeys(("input_stride", "target_stride", "stride_table_b", "stride_table_s"), "i32"),
    **{f"{of}_{axis}": "i32" for of in "qky" for axis in ("batch", "head", "dim")},
    "H": "i32",
    "V": "i32",
    "N": "i32",
    "eps": "fp32",
}


def signature_of(path: Path, kernel: str) -> tuple[dict[str, str], dict[str, object]]:
    """Types by the fixtures' parameter names; every constexpr is 64."""
    found = next(k for k in find_kernels(path) if k.name == kernel)
    constexprs: dict[str, object] = {p.name: 64 for p in found.params if p.constexpr}
    types = {p.name: TYPES[p.name] for p in found.params if p.name not in constexprs}
    if kernel.startswith("logical_operand"):
        types["n"] = "i1"
    return types, constexprs


def cases() -> list[tuple[Path, str]]:
    """Every kernel of the fixtures."""
    paths = [path for path in fixture_files() if path.stem not in NOT_COMPILED]
    return [
        (path, kernel.name)
        for path in paths
        for kernel in find_kernels(path)
        if kernel.name in functions(path) and kernel.kind == "kernel"
    ]


@cache
def outcomes() -> dict[tuple[str, str], CompiledKernel | CompileFailure]:
    """Everything compiled up to Triton's own IR, in one go."""
    wanted = cases()
    requests = [
        compile_request(path, name, *signature_of(path, name), until="ttir")
        for path, name in wanted
    ]
    return {
        (path.stem, name): result
        for (path, name), result in zip(wanted, compile_many(requests, processes=1), strict=True)
    }


@pytest.mark.sampled(0.3)
@pytest.mark.parametrize(
    ("path", "name"), cases(), ids=lambda v: v.stem if isinstance(v, Path) else v
)
def test_triton_agrees(path: Path, name: str) -> None:
    markers = reported_in(path, name)
    result = outcomes()[path.stem, name]
    refused = isinstance(result, CompileFailure)
    if any(marker.severity == "error" for marker in markers):
        assert refused, f"reported as an error, and it compiles: {markers}"
    elif not any(marker.name in {"dot-too-small", "global-not-constexpr"} for marker in markers):
        assert not refused, f"no error is reported, and Triton says: {result}"


def test_a_wrong_tuning_key_is_refused() -> None:
    path = next(path for path in fixture_files() if path.stem == "tuning_key")
    name = "autotune_unknown_key_reported"
    (result,) = compile_many(
        [compile_request(path, name, *signature_of(path, name), until="ttir")], processes=1
    )
    assert isinstance(result, CompileFailure)
    assert "size" in result.message
