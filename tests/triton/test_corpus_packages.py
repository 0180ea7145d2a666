"""The tools on other people's kernels: every jit function is found, and most compile as guessed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.triton.compile import CompiledKernel, CompileFailure, compile_many, compile_request
from tests.triton.corpus import CORPUS, corpus_files, find_kernels
from tests.triton.signature import guess_signature

# Packages whose files hold no kernels inside of strings, so that lines can be counted.
COUNTED = ["liger_kernel", "fla", "conch"]
# Every how many-th kernel is compiled.
SAMPLE = {"liger_kernel": 6, "fla": 12}
DECORATOR = re.compile(r"^\s*@(?:triton\.)?jit\b", re.MULTILINE)


def package(name: str) -> Path:
    """The folder of a corpus package."""
    folder = CORPUS / name
    assert folder.is_dir(), f"{folder} is missing: run tools/setup test"
    return folder


@pytest.mark.parametrize("name", COUNTED)
def test_every_decorated_function_is_found(name: str) -> None:
    """As many jit functions as lines with the decorator, file by file."""
    total = 0
    for path in sorted(package(name).rglob("*.py")):
        lines = len(DECORATOR.findall(path.read_text(encoding="utf-8")))
        found = [k for k in find_kernels(path) if k.jit == "triton"]
        assert len(found) == lines, path
        total += lines
    assert total > 20


@pytest.mark.parametrize("name", SAMPLE)
def test_most_kernels_compile_as_guessed(name: str) -> None:
    """Guessed signatures are good enough for three kernels in four; no kernel ends the compiler."""
    chosen = [
        (path, kernel.name)
        for path in corpus_files(package(name))
        for kernel in find_kernels(path)
        if kernel.kind == "kernel" and kernel.jit == "triton" and "." not in kernel.name
    ][::SAMPLE[name]]
    requests = []
    for path, kernel_name in chosen:
        guess = guess_signature(path, kernel_name)
        requests.append(
            compile_request(path, kernel_name, guess.types, guess.constexprs, until="ttir")
        )
    results = compile_many(requests, permissive=True, processes=2)
    crashed = [r for r in results if isinstance(r, CompileFailure) and r.stage == "crash"]
    assert crashed == []
    compiled = [r for r in results if isinstance(r, CompiledKernel)]
    assert len(compiled) >= 0.75 * len(results)
    assert all(r.types for r in compiled)
