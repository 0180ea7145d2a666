"""What is written: all or nothing, never over what was read or is somebody else's, never through a stranger's link."""

import os
import re
import resource
import signal
import subprocess
from pathlib import Path

import pytest

from tests.cli.conftest import BIN, BROKEN, CLEAN, Workspace

THEIRS = "# somebody's work\n"


def files_of(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def backward(workspace: Workspace, target: object, *more: str):
    return workspace.tad("--backward", "a.py", "--no-proof", "-o", target, *more)


@pytest.fixture
def kernels(workspace: Workspace) -> Workspace:
    workspace.write({"a.py": CLEAN})
    return workspace


def test_a_generated_module_is_written_again(kernels: Workspace) -> None:
    assert backward(kernels, "b.py").status == 0
    text = (kernels.path / "b.py").read_text()
    (kernels.path / "b.py").write_text("# WARNING: the proof contradicts the gradients\n" + text + "\n# mine\n")
    assert backward(kernels, "b.py").status == 0
    assert (kernels.path / "b.py").read_text() == text
    assert files_of(kernels.path) == {"a.py", "b.py"}


@pytest.mark.parametrize("above", ["", "# Copyright of its reader\n\n", "# NOT PROVED: the gradients of `k`\n"])
@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_a_generated_module_is_known_by_its_header(workspace: Workspace, above: str, ends: str) -> None:
    """Whatever its lines end in, and with comments above."""
    workspace.write({"a.py": CLEAN.replace("\n", ends).encode()})
    assert backward(workspace, "b.py").status == 0
    file = workspace.path / "b.py"
    text = file.read_bytes()
    file.write_bytes(above.replace("\n", ends).encode() + text)
    checked = workspace.tad("--check", "--grad", "b.py", "-f", "json")
    assert [kernel["status"] for kernel in checked.json["kernels"]] == ["proved"]
    assert backward(workspace, "b.py").status == 0
    assert file.read_bytes() == text


@pytest.mark.parametrize("options", [["--backward", "a.py", "--no-proof"], ["--check", "a.py"]])
def test_a_file_of_others_is_replaced_only_by_force(kernels: Workspace, options: list[str]) -> None:
    file = kernels.path / "b.py"
    file.write_text(THEIRS)
    refused = kernels.tad(*options, "-o", "b.py")
    assert refused.status == 2 and "was not written by tad-lsp" in refused.stderr and "--force" in refused.stderr
    assert file.read_text() == THEIRS
    assert kernels.tad(*options, "-o", "b.py", "--force").status == 0
    assert file.read_text() != THEIRS
    assert files_of(kernels.path) == {"a.py", "b.py"}


@pytest.mark.parametrize("text", ["", BROKEN, CLEAN])
@pytest.mark.parametrize("form", ["full", "concise", "json", "github", "gitlab", "sarif", "junit"])
def test_a_report_is_written_again(workspace: Workspace, form: str, text: str) -> None:
    workspace.write({"a.py": text})
    for _ in range(2):
        assert workspace.tad("--check", "a.py", "-f", form, "-o", "report").status in (0, 1)


OTHERS = ['{"a": 1}', "[1]", '[{"check_name": "x", "fingerprint": "y"}]', "1 file", "<testsuites/>"]


@pytest.mark.parametrize("text", OTHERS)
def test_what_only_looks_like_a_report_is_kept(kernels: Workspace, text: str) -> None:
    (kernels.path / "report").write_text(text)
    assert kernels.tad("--check", "a.py", "-o", "report").status == 2
    assert (kernels.path / "report").read_text() == text


@pytest.mark.parametrize("name", ["a.py", "./a.py", "sub/../a.py", "soft.py", "hard.py", "sub/up/a.py"])
def test_what_is_read_is_not_written(kernels: Workspace, name: str) -> None:
    folder = kernels.path
    (folder / "sub").mkdir()
    (folder / "soft.py").symlink_to("a.py")
    (folder / "hard.py").hardlink_to(folder / "a.py")
    (folder / "sub/up").symlink_to("..")
    for arguments in (["--backward", "a.py", "--no-proof"], ["--check", "a.py"], ["--check", "."]):
        refused = kernels.tad(*arguments, "-o", name, "--force")
        assert refused.status == 2 and "is read here" in refused.stderr
    assert (folder / "a.py").read_text() == CLEAN
    absolute = backward(kernels, folder / "a.py", "--force")
    assert absolute.status == 2 and (folder / "a.py").read_text() == CLEAN


def test_links_do_not_lead_out(kernels: Workspace, tmp_path_factory: pytest.TempPathFactory) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (outside / "victim.py").write_text("")
    links = {"file.py": outside / "victim.py", "folder": outside, "new.py": outside / "new.py", "loop.py": "loop.py"}
    for name, target in links.items():
        (kernels.path / name).symlink_to(target)
    for name in ("file.py", "folder/x.py", "new.py", "folder/../x.py", "loop.py", kernels.path / "folder/x.py"):
        refused = backward(kernels, name, "--force")
        assert refused.status == 2 and "is a link that leads" in refused.stderr
    assert files_of(outside) == {"victim.py"} and (outside / "victim.py").read_text() == ""
    assert files_of(kernels.path) == {"a.py", *links}


def test_links_inside_are_followed_and_stay_links(kernels: Workspace) -> None:
    (kernels.path / "real").mkdir()
    (kernels.path / "folder").symlink_to("real")
    (kernels.path / "real/b.py").write_text("")
    (kernels.path / "b.py").symlink_to("real/b.py")
    assert backward(kernels, "b.py").status == 0
    assert backward(kernels, "folder/c.py").status == 0
    assert (kernels.path / "b.py").is_symlink()
    assert (kernels.path / "real/b.py").read_text() == (kernels.path / "real/c.py").read_text() != ""


def test_links_of_the_system_are_followed(kernels: Workspace, tmp_path_factory: pytest.TempPathFactory) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (outside / "real").mkdir()
    (outside / "link").symlink_to("real")
    assert backward(kernels, outside / "link/b.py").status == 0
    assert (outside / "real/b.py").exists()


def test_permissions_are_kept(kernels: Workspace) -> None:
    file = kernels.path / "b.py"
    file.write_text("")
    file.chmod(0o640)
    before = file.stat().st_ino
    assert backward(kernels, "b.py").status == 0
    assert file.stat().st_mode & 0o7777 == 0o640
    assert file.stat().st_ino != before, "a reader of the old file sees all of it"


def test_a_failure_leaves_the_old_file(kernels: Workspace) -> None:
    assert backward(kernels, "b.py").status == 0
    old = (kernels.path / "b.py").read_bytes() + b"# mine\n"
    (kernels.path / "b.py").write_bytes(old)

    def full_disk() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))

    command = [BIN / "tad-lsp", "--backward", "a.py", "--no-proof", "-o", "b.py"]
    run = subprocess.run(
        command, cwd=kernels.path, preexec_fn=full_disk, capture_output=True, text=True, check=False
    )
    assert run.returncode == 2 and "b.py: writing failed" in run.stderr
    assert (kernels.path / "b.py").read_bytes() == old
    assert files_of(kernels.path) == {"a.py", "b.py"}


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_file_that_may_not_be_written_is_not_replaced(kernels: Workspace) -> None:
    (kernels.path / "b.py").write_text("")
    (kernels.path / "b.py").chmod(0o444)
    assert backward(kernels, "b.py").status == 2


def test_a_session_is_recorded_over_a_session_only(kernels: Workspace) -> None:
    def record(*more: str) -> subprocess.CompletedProcess:
        command = [BIN / "tad-lsp", "--record", "session", *more]
        body = '{"jsonrpc":"2.0","method":"exit"}'
        frame = f"Content-Length: {len(body)}\r\n\r\n{body}"
        return subprocess.run(command, cwd=kernels.path, input=frame, capture_output=True, text=True, check=False)

    session = kernels.path / "session"
    session.write_text(THEIRS)
    assert "was not written by tad-lsp" in record().stderr and session.read_text() == THEIRS
    record("--force")
    assert "exit" in session.read_text()
    session.write_text("Content-Length: 5\r\n\r\n12345")
    record()
    assert "exit" in session.read_text() and "12345" not in session.read_text()
    assert files_of(kernels.path) == {"a.py", "session"}


def test_devices_are_written_as_they_are(kernels: Workspace) -> None:
    assert backward(kernels, "/dev/null").status == 0
    shown = backward(kernels, "/dev/stdout")
    assert shown.status == 0 and "def scale_kernel_backward" in shown.stdout


def test_a_name_cannot_leave_the_docstring_of_the_module(workspace: Workspace) -> None:
    name = '"""\nimport os\n"""\\.py'
    workspace.write({name: CLEAN})
    result = workspace.tad("--backward", name, "--no-proof")
    assert result.status == 0 and result.stdout.startswith('"""Backward of the kernels, derived by tad-lsp.\n')
    assert "import os" not in result.stdout


@pytest.mark.parametrize("options", [["--backward", "a.py", "--no-proof"], ["--check", "a.py"]])
def test_a_hyphen_is_stdout(kernels: Workspace, options: list[str]) -> None:
    plain = kernels.tad(*options)
    named = kernels.tad(*options, "-o", "-")
    assert named.status == plain.status == 0 and "wrote" not in named.stderr
    without_time = [re.sub(r"[0-9.]+ s\b", "", text) for text in (plain.stdout, named.stdout)]
    assert without_time[0] == without_time[1]
    assert files_of(kernels.path) == {"a.py"}
