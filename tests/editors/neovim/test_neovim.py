"""The Neovim plugin in real Neovims (0.7, 0.10, 0.12): headless, and in a terminal whose screen is read."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import select
import shutil
import struct
import subprocess
import termios
import time
from pathlib import Path

import pyte
import pytest

from tests.cli.test_ask import KERNEL as REFUSED
from tests.cli.test_ask import KEY, RIGHT, WRONG
from tests.support.model_server import Model, Say

ROOT = Path(__file__).resolve().parents[3]
PLUGIN = ROOT / "clients" / "neovim"
STORY = Path(__file__).with_name("story.lua")
BIN = Path(os.environ.get("TAD_BIN", ROOT / "build")).resolve()
EDITORS = ROOT / ".editors"
NEOVIMS = {
    "debian": Path(shutil.which("nvim") or "/usr/bin/nvim"),
    "0.10": EDITORS / "neovim-trixie" / "nvim",
    "0.12": EDITORS / "neovim-sid" / "nvim",
}
KERNEL = """import torch
import triton
import triton.language as tl


@triton.jit
def swish_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0)
    tl.store(y_ptr + offsets, x * tl.sigmoid(x), mask=mask)


def swish(x):
    y = torch.empty_like(x)
    swish_kernel[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
    return y
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with one kernel, as a user has it."""
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "kernels"\nversion = "1"\n')
    (tmp_path / "swish.py").write_text(KERNEL)
    shutil.copy(ROOT / "tests/editors/vscode/workspace/slow.py", tmp_path)
    return tmp_path / "swish.py"


def environment(project: Path) -> dict[str, str]:
    """Nothing of the user's own configuration; the server on PATH."""
    home = project.parent / "home"
    home.mkdir(exist_ok=True)
    return {
        **os.environ,
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / "config"),
        "XDG_DATA_HOME": str(home / "data"),
        "XDG_STATE_HOME": str(home / "state"),
        "XDG_CACHE_HOME": str(home / "cache"),
        "PATH": f"{BIN}:{os.environ['PATH']}",
        "TAD_STORY_FILE": str(project),
        "TAD_STORY_KERNEL": "swish_kernel",
        "TAD_STORY_SLOW": str(project.with_name("slow.py")),
        "TERM": "xterm-256color",
    }


def arguments(neovim: Path, *trusted: Path) -> list[str]:
    """Only our plugin, and the server that is tested."""
    server = f"let g:tad = #{{ cmd: '{BIN / 'tad-lsp'}', trusted: {[str(folder) for folder in trusted]} }}"
    return [str(neovim), "--clean", "--cmd", server, "--cmd", f"set runtimepath^={PLUGIN}"]


@pytest.mark.parametrize("version", NEOVIMS)
def test_story(version: str, project: Path) -> None:
    neovim = NEOVIMS[version]
    assert neovim.exists(), f"{neovim} is missing: `make setup-editors`"
    run = subprocess.run(
        [*arguments(neovim), "--headless", "-S", str(STORY)],
        env=environment(project),
        cwd=project.parent,
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    report = run.stdout + run.stderr
    print(report)
    assert "not ok" not in report, report
    assert re.search(r"# [1-9]\d+ passed, 0 failed", report), report
    assert "traceback" not in report, report
    assert run.returncode == 0


@pytest.mark.parametrize("version", [name for name in NEOVIMS if name != "debian"])
def test_beside_another_server(version: str, project: Path) -> None:
    """What a server for Python says, too, is left to it while it is there. (Neovim 0.7 hears of no other server.)"""
    run = subprocess.run(
        [*arguments(NEOVIMS[version]), "--headless", "-S", str(STORY.with_name("beside.lua"))],
        env=environment(project),
        cwd=project.parent,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert run.stdout == "ok\n", run.stdout + run.stderr
    assert run.returncode == 0


def ask_in_neovim(
    version: str, project: Path, script: list[Say], says: list[str] | None = None
) -> tuple[str, Model]:
    """Asks about a refused kernel until it is proved; `says` is what is told of the sessions before.

    The file's text, and the model with what it got."""
    model = Model("openai", script)
    env = environment(project)
    file = project.with_name("work") / "gamma.py"  # the home lies elsewhere
    file.parent.mkdir()
    (file.parent / "pyproject.toml").write_text("")
    file.write_text(REFUSED)
    agreed = [{"workspace": str(file.parent.resolve()), "url": f"{model.url}/chat/completions"}]
    settings = f'endpoint = "{model.url}"\nmodel = "scripted"\nmax-iters = 1\n'
    for variable, name, text in (
        ("XDG_CONFIG_HOME", "model.toml", settings),
        ("XDG_STATE_HOME", "agreed.json", json.dumps({"agreed": agreed})),
    ):
        folder = Path(env[variable]) / "tad-lsp"
        folder.mkdir(parents=True)
        (folder / name).write_text(text)
    env["TAD_STORY_FILE"] = str(file)
    env["TAD_STORY_SAYS"] = json.dumps(says or [])
    command = arguments(NEOVIMS[version], project.parent)
    command[3] = command[3].replace(" }", f", model_key: ['echo', '{KEY}'] }}")
    try:
        run = subprocess.run(
            [*command, "--headless", "-S", str(STORY.with_name("ask.lua"))],
            env=env,
            cwd=project.parent,
            capture_output=True,
            text=True,
            timeout=150,
            check=False,
        )
    finally:
        model.close()
    assert run.returncode == 0, run.stdout + run.stderr
    assert KEY not in run.stdout + run.stderr
    return file.read_text(), model


@pytest.mark.parametrize("version", NEOVIMS)
def test_a_model_is_asked(version: str, project: Path) -> None:
    """From the refusal to the derivative that is proved, with a key that a command prints."""
    text, model = ask_in_neovim(version, project, [Say(f"With a series:\n\n{RIGHT}\n")])
    assert f"{RIGHT}\n@triton.jit\ndef log_gamma(x):" in text
    ((_, headers, _),) = model.requests
    assert headers["Authorization"] == f"Bearer {KEY}"


def test_a_model_that_fails_changes_nothing(project: Path) -> None:
    """A server that refuses, a wrong answer, code that reads files, an answer without an end.

    Then a busy server, a broken stream, and the right answer, late."""
    script = [
        Say(f"Incorrect API key provided: {KEY}", status=401),
        Say(WRONG),
        Say("```python\nopen('/etc/passwd').read()\n```"),
        Say(RIGHT, bytes=50_000_000),
        Say("busy", status=429, headers={"Retry-After": "3600"}),
        Say("it broke", status=503),
        Say(RIGHT, cut=True),
        Say(f"It took me a while.\n\n```python\n{RIGHT}\n```\nI am sure.", delay=3.0),
    ]
    says = [
        "the server answers 401 (the key): Incorrect API key provided: (key)",
        "the gradient of x_ptr is wrong",
        "no rule that can be read",
        "the answer is larger than 4000000 bytes",
        "429 (too many requests): busy",
    ]
    text, model = ask_in_neovim("debian", project, script, says)
    assert f"{RIGHT}\n@triton.jit\ndef log_gamma(x):" in text
    assert len(model.requests) == len(script)


class Terminal:
    """A program on a pseudo terminal, its screen kept by a terminal emulator."""

    def __init__(self, command: list[str], env: dict[str, str], folder: Path) -> None:
        self.screen = pyte.Screen(110, 32)
        self.stream = pyte.ByteStream(self.screen)
        pid, self.master = pty.fork()
        if pid == 0:
            os.chdir(folder)
            os.environ.update({"LINES": "32", "COLUMNS": "110"})
            os.execvpe(command[0], command, {**env, "LINES": "32", "COLUMNS": "110"})
        self.pid = pid
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", 32, 110, 0, 0))

    def read(self, seconds: float) -> None:
        """Takes in what is written for a while."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            ready, _, _ = select.select([self.master], [], [], 0.05)
            if ready:
                try:
                    self.stream.feed(os.read(self.master, 65536))
                except OSError:
                    return

    def text(self) -> str:
        """The screen."""
        return "\n".join(line.rstrip() for line in self.screen.display)

    def wait_for(self, pattern: str, seconds: float = 90) -> str:
        """The screen once it shows the pattern."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.read(0.2)
            if re.search(pattern, self.text()):
                return self.text()
        raise AssertionError(f"{pattern!r} is not on the screen:\n{self.text()}")

    def type(self, keys: str) -> None:
        """As if typed."""
        os.write(self.master, keys.encode())

    def close(self) -> None:
        """Ends the program."""
        os.write(self.master, b"\x1b:qall!\r")
        self.read(1)
        os.kill(self.pid, 9)
        os.waitpid(self.pid, 0)


@pytest.mark.parametrize("version", NEOVIMS)
def test_in_a_terminal(version: str, project: Path) -> None:
    terminal = Terminal(
        [*arguments(NEOVIMS[version], project.parent), "--cmd", "set nomore", str(project)],
        environment(project),
        project.parent,
    )
    try:
        if version != "debian":  # inlay hints are those of 0.10 and later
            terminal.wait_for(r"x: f\w*\[BLOCK\]|x: \w+\[BLOCK\]")
        screen = terminal.wait_for(r"Generate backward")
        assert "swish_kernel" in screen
        terminal.type("/tl.load\rf.lcwlod\x1b")
        terminal.wait_for(r"tl\.lod")
        terminal.type(":lua vim.diagnostic.config({virtual_text=true})\r")
        terminal.wait_for(r"has no `lod`")
        terminal.type("u")
        terminal.type(":Tad check\r")
        terminal.wait_for(r"proved")
        terminal.type(":Tad backward\r")
        terminal.wait_for(r"swish_kernel_backward")
    finally:
        terminal.close()


def test_help_names_every_setting() -> None:
    page = (PLUGIN / "doc" / "tad.txt").read_text()
    rows = re.findall(
        r'^SETTING\(\w+, "([\w.]+)"',
        (ROOT / "server" / "settings" / "settings.def").read_text(),
        re.M,
    )
    assert len(rows) > 5
    # `trusted` is a field of vim.g.tad itself.
    assert [row for row in rows if row != "trusted" and f"`{row}`" not in page] == []
