"""Code that the backend `cuda` compiled once, kept in the user's folder: by one process for the next."""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.runner.test_cuda import CudaRunner, both, stand_in
from tests.runner.test_cuda_runs import parameters

__all__ = ["stand_in"]

NO_COMPILER = {"STAND_IN_FAIL": "nvrtcCompileProgram:6"}
MOST_FILES = 512


def run(stand_in: str, home: Path, **more: str) -> dict:
    """What one worker gives for one kernel."""
    runner = CudaRunner(both(stand_in, HOME=str(home), **more))
    result = runner.ask("run", parameters("arithmetic"))["result"]
    runner.end()
    return result


def kept(home: Path) -> list[Path]:
    return sorted((home / ".cache/tad-lsp/cuda").glob("*"))


def test_the_next_process_compiles_nothing(stand_in: str, tmp_path: Path) -> None:
    first = run(stand_in, tmp_path)
    assert [file.suffix for file in kept(tmp_path)] == [".code"]
    again = run(stand_in, tmp_path, **NO_COMPILER)
    assert again["cuda"]["launches"] == 1
    assert again["buffers"] == first["buffers"]
    assert (
        "the stand-in was told to"
        in run(stand_in, tmp_path / "x", **NO_COMPILER)["cuda"]["refused"]
    )


@pytest.mark.parametrize("damage", ["empty", "short", "long", "changed", "other key", "link"])
def test_a_file_that_is_not_whole_is_none(stand_in: str, tmp_path: Path, damage: str) -> None:
    first = run(stand_in, tmp_path)
    file = kept(tmp_path)[0]
    content = file.read_bytes()
    damaged = {
        "empty": b"",
        "short": content[:-100],
        "long": content + b"x",
        "changed": content[:-100] + bytes(100),
        "other key": content.replace(b"sm_90", b"sm_91"),
        "link": content,
    }[damage]
    file.unlink()
    if damage == "link":
        (tmp_path / "elsewhere").write_bytes(damaged)
        file.symlink_to(tmp_path / "elsewhere")
    else:
        file.write_bytes(damaged)
    assert run(stand_in, tmp_path, **NO_COMPILER)["cuda"]["launches"] == 0
    again = run(stand_in, tmp_path)
    assert again["cuda"]["launches"] == 1
    assert again["buffers"] == first["buffers"]
    assert run(stand_in, tmp_path, **NO_COMPILER)["cuda"]["launches"] == 1


def test_a_folder_that_others_write_to_is_not_used(stand_in: str, tmp_path: Path) -> None:
    folder = tmp_path / ".cache/tad-lsp/cuda"
    folder.mkdir(parents=True)
    folder.chmod(0o777)
    assert run(stand_in, tmp_path)["cuda"]["launches"] == 1
    assert kept(tmp_path) == []


def test_workers_at_once(stand_in: str, tmp_path: Path) -> None:
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda _: run(stand_in, tmp_path), range(4)))
    assert all(result["cuda"]["launches"] == 1 for result in results)
    assert all(result["buffers"] == results[0]["buffers"] for result in results)
    assert [file.suffix for file in kept(tmp_path)] == [".code"]


def test_it_does_not_grow_for_ever(stand_in: str, tmp_path: Path) -> None:
    folder = tmp_path / ".cache/tad-lsp/cuda"
    folder.mkdir(parents=True, mode=0o700)
    (tmp_path / ".cache/tad-lsp").chmod(0o700)
    folder.chmod(0o700)
    long_ago = time.time() - 10000
    for i in range(MOST_FILES + 50):
        file = folder / f"{i:032x}.code"
        file.write_bytes(b"x" * 10)
        os.utime(file, (long_ago + i, long_ago + i))
    half_written = folder / "77-0.part"
    half_written.write_bytes(b"x")
    os.utime(half_written, (long_ago, long_ago))
    assert run(stand_in, tmp_path)["cuda"]["launches"] == 1
    files = kept(tmp_path)
    assert len(files) == MOST_FILES
    assert folder / f"{0:032x}.code" not in files, "the oldest go first"
    assert folder / f"{MOST_FILES + 49:032x}.code" in files
    assert not half_written.exists()
