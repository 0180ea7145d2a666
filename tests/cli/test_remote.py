"""Commands that lead to a worker: what greets before it, what fails on the way there, which GPU it uses."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

import pytest

from tests.cli.conftest import BIN, CLEAN, HEADER, Workspace
from tests.cli.test_workers import kernels, reason, script

RUNNER = f"exec {BIN}/tad-runner"


def proved(workspace: Workspace, runner: object, *more: object) -> list[str]:
    result = workspace.tad("--check", "a.py", "--grad", "-f", "json", "--runner", runner, *more)
    return [kernel["status"] for kernel in result.json["kernels"]]


@pytest.mark.parametrize(
    "greeting",
    [
        "echo Welcome to gpubox; echo; echo '  Last login: yesterday'",
        "printf 'Note: a header it is not\\n\\n'",
        "printf 'no end of a line'",
        "printf 'Last: \\033[31mlogin\\033[0m \\303\\274\\n\\377\\n'",
        "i=0; while [ $i -lt 300 ]; do echo Welcome to gpubox; i=$((i + 1)); done",
        "echo Welcome; sleep 0.2; printf 'to gpu'; sleep 0.2; echo box",
    ],
)
def test_a_greeting_before_the_worker(workspace: Workspace, greeting: str) -> None:
    workspace.write({"a.py": CLEAN})
    runner = script(workspace, f"#!/bin/sh\n{greeting}\n{RUNNER}\n")
    assert proved(workspace, runner) == ["proved"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("echo this account is not available; exit 1", "status 1: this account is not available"),
        ("echo Welcome; echo no route to host >&2; exit 255", "status 255: no route to host"),
        ("printf 'no end of a line'; exit 3", "status 3: no end of a line"),
        ("exec no-such-program", "status 127: "),
        ("exec cat", "our own request back"),
        ("echo Welcome; kill -9 $$", "killed by signal 9: Welcome"),
    ],
)
def test_a_way_that_ends_before_the_worker(workspace: Workspace, text: str, says: str) -> None:
    runner = script(workspace, f"#!/bin/sh\n{text}\n")
    told = reason(workspace, runner)
    assert says in told and f"`{runner}`" in told


def test_a_way_that_asks_something(workspace: Workspace) -> None:
    """There is nobody to answer, so what it said is why nothing came."""
    runner = script(workspace, "#!/bin/sh\necho please log in at https://gpubox; sleep 600\n")
    told = reason(workspace, runner, "--time-limit", 0.1)
    assert "did not answer within 5 s and was stopped: please log in at https://gpubox" in told


def test_a_command_that_is_not_there(workspace: Workspace) -> None:
    workspace.write({"a.py": kernels("one", "two")})
    result = workspace.tad("--check", "a.py", "--grad", "--runner", "no-such-program box worker")
    assert result.status == 2
    assert result.stderr == "tad-lsp: cannot start `no-such-program`: no such file or directory\n"


@pytest.mark.parametrize(
    "command",
    [
        "sh -c 'exec \"$0\"' {}",
        'sh -c "exec {}"',
        "env 'A=a b' sh -c 'test \"$A\" = \"a b\" && exec {}'",
        "  env   {}  ",
    ],
)
def test_quotes_keep_words_together(workspace: Workspace, command: str) -> None:
    workspace.write({"a.py": CLEAN})
    assert proved(workspace, command.format(BIN / "tad-runner")) == ["proved"]


def test_a_quote_alone_is_a_letter(workspace: Workspace) -> None:
    workspace.write({"a.py": CLEAN})
    folder = workspace.path / "o'brien"
    folder.mkdir()
    (folder / "tad-runner").symlink_to(BIN / "tad-runner")
    assert proved(workspace, f"env {folder}/tad-runner") == ["proved"]


def test_large_inputs_travel_with_the_request(workspace: Workspace) -> None:
    """Nothing is read from a disk there: 8 MB of imports pass through pipes."""
    helper = HEADER + "# " + "x" * 8_000_000 + "\n@triton.jit\ndef twice(x):\n    return 2.0 * x\n"
    kernel = CLEAN.replace(HEADER, HEADER + "from helper import twice\n\n\n")
    workspace.write({"helper.py": helper, "a.py": kernel.replace("x * 3.0", "twice(x)")})
    runner = script(workspace, f"#!/bin/sh\ncd /\ncat | {BIN}/tad-runner | cat\n")
    assert proved(workspace, runner) == ["proved"]


@pytest.fixture(scope="session")
def stand_in(tmp_path_factory: pytest.TempPathFactory) -> str:
    library = tmp_path_factory.mktemp("standin") / "libstandin.so"
    source = Path(__file__).resolve().parents[1] / "standin/cuda.c"
    options = ["-shared", "-fPIC", "-O1", "-D_GNU_SOURCE"]
    subprocess.run(["cc", *options, "-o", library, source, "-ldl", "-pthread"], check=True)
    return str(library)


def command(stand_in: str, **more: object) -> str:
    own = {"XDG_CACHE_HOME": Path(stand_in).parent}  # what it compiles is no code of a GPU
    variables = {"TAD_LIBCUDA": stand_in, "TAD_NVRTC": stand_in, **own, **more}
    return shlex.join(["env", *(f"{k}={v}" for k, v in variables.items()), f"{BIN}/tad-runner"])


@pytest.mark.parametrize(("gpus", "jobs", "used"), [(3, 3, "0 1 2"), (2, 3, "0 1"), (3, 1, "0")])
def test_each_worker_uses_a_gpu_of_its_own(
    workspace: Workspace, stand_in: str, gpus: int, jobs: int, used: str
) -> None:
    many = [CLEAN.removeprefix(HEADER).replace("scale_kernel", f"kernel_{i}") for i in range(6)]
    workspace.write({"a.py": HEADER + "\n\n".join(many)})
    log = workspace.path / "used"
    runner = command(stand_in, STAND_IN_GPUS=gpus, STAND_IN_USED=log)
    found = proved(workspace, runner, "--backend", "cuda", "--jobs", jobs)
    assert found == ["proved"] * 6
    assert sorted(set(log.read_text().split())) == used.split()


@pytest.mark.parametrize("name", ["wrapper", "tad-runner"])
def test_gpus_that_are_hidden_are_hidden_from_the_worker(workspace: Workspace, name: str) -> None:
    workspace.write({"a.py": kernels("one")})
    runner = script(workspace, '#!/bin/sh\necho "$CUDA_VISIBLE_DEVICES" >seen\nexit 1\n', name)
    more = ["--backend", "cuda", "--runner", runner]
    workspace.tad("--check", "a.py", "--grad", *more, env={"CUDA_VISIBLE_DEVICES": "MIG-1,3"})
    assert (workspace.path / "seen").read_text() == "MIG-1,3\n"


def test_no_file_of_a_folder_names_a_worker(workspace: Workspace) -> None:
    evil = script(workspace, "#!/bin/sh\ntouch ran\n", "tad-runner")
    for line in (f'runner = "{evil}"', f'runner.command = "{evil}"'):
        workspace.write({"a.py": CLEAN, "pyproject.toml": f"[tool.tad]\n{line}\n"})
        result = workspace.tad("--check", "a.py", "--grad")
        assert "[tool.tad] has no key `runner`" in result.stderr
        assert not (workspace.path / "ran").exists()


def test_times_are_of_the_machine_that_is_named(workspace: Workspace) -> None:
    """Where the worker there has none, nothing is timed here in its place."""
    workspace.write({"a.py": CLEAN})
    text = f"#!/bin/sh\n[ $# = 0 ] && exec {BIN}/tad-runner\necho gone >&2\nexit 7\n"
    python = script(workspace, "#!/bin/sh\ntouch ran\n", "python3")
    way = ["--runner", script(workspace, text), "--python", python]
    result = workspace.tad("--time", "a.py", *way)
    assert result.status == 2
    assert "exited with status 7: gone" in result.stdout + result.stderr
    assert not (workspace.path / "ran").exists()
