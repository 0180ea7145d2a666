"""`--ask --phase faster,tidy`: a model rewrites a proved backward; only what is proved again and better is kept."""

from __future__ import annotations

import json
import os
import re
import subprocess
import time

import pytest

from tests.cli.conftest import BIN
from tests.cli.test_ask import KEY, asking
from tests.support.model_server import Say

__all__ = ["asking"]

# The backward loads `x` twice, and goes a long way round.
FILE = """import torch
import triton
import triton.language as tl


@triton.jit
def scale_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0)
    tl.store(y_ptr + i, x * x, mask=i < n)


@triton.jit
def scale_kernel_backward(dy_ptr, x_ptr, dx_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0)
    again = tl.load(x_ptr + i, mask=i < n, other=0.0)
    dy = tl.load(dy_ptr + i, mask=i < n, other=0.0)
    left = dy * x
    right = dy * again
    tl.store(dx_ptr + i, left + right, mask=i < n)


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.empty_like(x)
        scale_kernel[(triton.cdiv(x.numel(), 64),)](x, y, x.numel(), BLOCK=64)
        ctx.save_for_backward(x)
        return y

    @staticmethod
    def backward(ctx, dy):
        (x,) = ctx.saved_tensors
        dx = torch.empty_like(x)
        scale_kernel_backward[(triton.cdiv(x.numel(), 64),)](dy, x, dx, x.numel(), BLOCK=64)
        return dx


def scale(x):
    return Scale.apply(x)
"""
HEAD = """@triton.jit
def scale_kernel_backward(dy_ptr, x_ptr, dx_ptr, n, BLOCK: tl.constexpr):
"""
LINES = """    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0)
    dy = tl.load(dy_ptr + i, mask=i < n, other=0.0)
    twice = dy * x
    tl.store(dx_ptr + i, twice + twice, mask=i < n)
"""
SHORT = LINES.replace("    twice = dy * x\n", "").replace("twice + twice", "2 * dy * x")


def answer(lines: str, head: str = HEAD) -> str:
    return f"One load is enough:\n\n```python\n{head}{lines}```\n\nHope that helps."


FASTER = answer(LINES)


def phase(asking, *script: Say | str, names: str = "faster", text: str = FILE, api: str = "openai"):
    one = asking(*script, api=api)
    one.file.write_text(text)
    return one, lambda *more, **env: one.sent("--phase", names, *more, **env)


@pytest.mark.parametrize("api", ["openai", "anthropic"])
def test_a_faster_body_is_kept_with_its_mark(asking, api: str) -> None:
    one, run = phase(asking, FASTER, "That is all I know.", api=api)
    result = run("--write")
    assert result.status == 0, result.stdout + result.stderr
    assert "answer 1 kept, faster: " in result.stdout
    assert "-    again = tl.load(x_ptr" in result.stdout
    assert "answer 2 cannot be used: it has none of the kernels" in result.stdout
    assert " ns a program, was " in result.stdout
    assert "(estimated, not timed: no line `# tad time: ...`" in result.stdout
    text = one.file.read_text()
    mark = "# Proposed by a model (scripted), proved with `scale_kernel`: worst error "
    assert text.count(mark) == 1
    (line,) = [each for each in text.splitlines() if each.startswith(mark)]
    before = FILE.split(HEAD)[0]
    after = FILE[FILE.index("\n\nclass Scale") :]
    assert text == f"{before}{line}\n{HEAD}{LINES}{after}"
    check = one.workspace.tad("--check", "--grad", "--format", "json", "kernels.py").json
    assert check["kernels"][0]["status"] == "proved"


def test_atomics_are_not_faster_by_an_estimate(asking) -> None:
    loads = "".join(
        f"    more_{i} = tl.load(x_ptr + i, mask=i < n, other=0.0)\n    dy += 0 * more_{i}\n"
        for i in range(3)
    )
    text = FILE.replace("    left = dy * x\n", f"{loads}    left = dy * x\n")
    text = text.replace("dx = torch.empty_like(x)", "dx = torch.zeros_like(x)")
    atomic = LINES.replace("tl.store(dx_ptr", "tl.atomic_add(dx_ptr")
    one, run = phase(asking, answer(atomic), FASTER, text=text)
    result = run()
    assert "answer 1 right, but its atomics move more: " in result.stdout, result.stdout
    assert "answer 2 kept, faster: " in result.stdout
    assert "its atomics move more" in one.model.requests[1][2]["messages"][-1]["content"]


def test_what_is_sent_is_shown_and_agreed_to_apart(asking) -> None:
    one, _ = phase(asking, FASTER)
    endpoint = ["--endpoint", one.model.url, "--model", "scripted", "--phase", "faster"]
    result = one.ask(*endpoint)
    assert (result.status, one.model.requests) == (2, [])
    assert "nothing was sent" in result.stderr
    assert one.ask(*endpoint, "--agree").status == 0
    assert one.model.bodies[0] in result.stdout
    (_, _, body) = one.model.requests[0]
    asked = json.dumps(body)
    assert "def scale_kernel_backward" in asked and "class Scale" not in asked
    assert KEY not in asked


LOCKED = {
    "signature": (
        answer(LINES, HEAD.replace("x_ptr,", "x_ptr, z_ptr,")),
        "the signature or a decorator",
    ),
    "decorator": (
        answer(LINES, HEAD.replace("@triton.jit", "@triton.jit(debug=True)")),
        "the signature or a decorator",
    ),
    "a function": (answer(LINES + "\n\ndef more():\n    return 1\n"), "it adds a function `more`"),
    "the forward": (
        answer(
            LINES
            + "\n\n@triton.jit\ndef scale_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):\n    pass\n"
        ),
        "`scale_kernel` is locked",
    ),
    "a comment of ours": (answer(LINES + "    # tad: ignore-file\n"), "has a comment for tad-lsp"),
    "no kernel": (
        answer("", "import os\nos.system('touch owned')\n"),
        "it has none of the kernels",
    ),
    "no code": ("I would rather not.", "it has none of the kernels"),
    "broken": (
        answer(LINES + "    tl.store(dx_ptr\n"),
        "its code does not parse (its line ",
    ),
    "open text": (answer(LINES + '    x = """\n'), "its code does not parse"),
    "a file": (
        answer(LINES + "    open('/etc/passwd').read()\n"),
        "Triton does not know Python's `open`",
    ),
    "an import": (
        answer("    import os\n" + LINES + "    os.system('touch owned')\n"),
        "refused: ",
    ),
    "wrong": (answer(LINES.replace("twice + twice", "twice")), "the gradient of x_ptr is wrong"),
    "out of bounds": (
        answer(LINES.replace("twice + twice, mask=i < n", "twice + twice")),
        "refused: ",
    ),
    "slower": (answer(LINES + LINES), "right, but not faster"),
    "the same": (answer(FILE.split(HEAD)[1].split("\n\n\n")[0] + "\n"), "the same text as before"),
}


@pytest.mark.parametrize("case", LOCKED)
def test_what_is_locked_wrong_or_worse_is_refused(asking, case: str) -> None:
    text, says = LOCKED[case]
    one, run = phase(asking, text)
    result = run("--write", "--max-iters", "1")
    assert result.status == 1, result.stdout + result.stderr
    assert says in result.stdout
    assert "0 of 1 phase with a gain" in result.stdout
    assert one.file.read_text() == FILE
    assert not (one.workspace.path / "owned").exists()


def test_two_programs_that_meet_are_refused(asking) -> None:
    """Right one after the other, a race on a GPU."""
    race = """    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0)
    dy = tl.load(dy_ptr + i, mask=i < n, other=0.0)
    tl.store(dx_ptr + i, 2 * dy * x, mask=i < n)
    j = tl.arange(0, BLOCK)
    tl.store(dx_ptr + j, tl.load(dx_ptr + j, mask=j < n, other=0.0), mask=j < n)
"""
    _, run = phase(asking, answer(race))
    result = run("--max-iters", "1")
    assert (
        result.status,
        "answer 1 refused: race in scale_kernel_backward, line 20" in result.stdout,
    ) == (1, True)


def test_a_regression_rolls_back_to_the_best(asking) -> None:
    one, run = phase(asking, FASTER, LOCKED["wrong"][0], answer(SHORT), names="faster")
    result = run("--write", "--max-iters", "3")
    assert result.status == 0
    turns = one.model.requests[2][2]["messages"]
    assert turns[3]["content"].startswith("Kept, it is faster: ")
    said = turns[5]["content"]
    assert "Not kept, refused: the gradient of x_ptr is wrong" in said
    assert f"The best so far is:\n\n```python\n{HEAD}{LINES}```" in said
    assert SHORT in one.file.read_text() or LINES in one.file.read_text()


def test_it_stops_without_a_gain(asking) -> None:
    one, run = phase(asking, "Hm.")
    result = run("--max-iters", "9")
    assert "stopped: 2 answers without a gain" in result.stdout
    assert len(one.model.requests) == 2


def test_tidying_makes_it_shorter_and_nothing_else(asking) -> None:
    longer = LINES.replace(
        "    twice =", "    # the derivative of a square, twice the half of it\n    twice ="
    )
    one, run = phase(
        asking,
        FASTER,
        "Done.",
        "Done.",
        answer(longer),
        answer(SHORT),
        "Done.",
        names="faster,tidy",
    )
    result = run("--write")
    assert result.status == 0, result.stdout
    assert "`scale_kernel`, faster: faster: " in result.stdout
    tidy = next(line for line in result.stdout.splitlines() if "`scale_kernel`, tidy: " in line)
    assert re.search(r": tidier: \d+ parts and 0 findings, was \d+ parts and 0 findings ", tidy)
    assert "(not slower, estimated, not timed: no line `# tad time: ...`" in tidy
    assert "proved, worst error " in tidy
    assert "2 of 2 phases with a gain" in result.stdout
    assert SHORT in one.file.read_text()


def test_long_names_are_not_untidy(asking) -> None:
    """Neither is a text shorter that only spells its names shorter."""
    named = SHORT.replace(" x = ", " value_of_the_row = ").replace("* x,", "* value_of_the_row,")
    one, run = phase(
        asking, answer(named), answer(SHORT), names="tidy", text=FILE.replace("again", "x2")
    )
    result = run("--write", "--max-iters", "2")
    assert "answer 1 kept, tidier: " in result.stdout, result.stdout
    assert "answer 2 right, but not tidier: " in result.stdout
    assert named in one.file.read_text()


def test_findings_go_first_and_none_may_come(asking) -> None:
    """Fewer findings are tidier even in more words; a shorter text that brings one is not."""
    unread = "    again = tl.load(x_ptr + i, mask=i < n, other=0.0)\n"
    text = FILE.replace("dy * again", "dy * x")
    names = "".join(f"    {name} = x\n" for name in "abcdefgh")
    clean = LINES.replace("    twice =", f"{names}    twice =")
    brings = SHORT.replace("    dy =", f"{unread}    dy =")
    one, run = phase(asking, answer(clean), answer(brings), names="tidy", text=text)
    result = run("--write", "--max-iters", "2")
    question = one.model.requests[0][2]["messages"][1]["content"]
    assert "The check finds:\n`tl.load(x_ptr + i, mask=i < n, other=0.0)`: " in question
    assert "answer 1 kept, tidier: " in result.stdout, result.stdout
    assert " parts and 0 findings, was " in result.stdout and " and 1 finding" in result.stdout
    assert re.search("answer 2 right, but not tidier: .* and 1 finding, was", result.stdout)
    assert clean in one.file.read_text()


def test_a_tidier_text_is_not_slower_where_the_clock_says(asking) -> None:
    """The times that a session was recorded with, on a card that is not here."""
    one, run = phase(asking, answer(SHORT), names="tidy")
    assert run("--record", "talk.json", "--max-iters", "1").status == 0
    talk = one.workspace.path / "talk.json"
    recorded = json.loads(talk.read_text())
    end, times = ' an element)\\n"', "Together they take 1 ms (0.95 to 1.05) on a card."
    (turn,) = recorded["turns"]
    assert turn["request"].count(end) == 1
    turn["request"] = turn["request"].replace(end, f'{end[:-1]}{times}\\n"')
    base = {"median_ms": 1.0, "low_ms": 0.95, "high_ms": 1.05, "device": "a card"}
    for median, kept in ((1.04, True), (1.06, False)):
        recorded["measured"] = [base, {**base, "median_ms": median}]
        talk.write_text(json.dumps(recorded))
        play = ("--answers", "talk.json", "--phase", "tidy", "--max-iters", "1")
        played = one.ask(*play, key=None)
        assert ("(not slower, timed on a card)" in played.stdout) == kept, played.stdout
        assert ("answer 1 right, but slower: 1.06 ms" in played.stdout) != kept
        assert played.status == (0 if kept else 1)


def test_from_a_refusal_to_a_backward_that_is_better(asking) -> None:
    """All phases in one session: the rule, then the backward below the kernel, then its body."""
    from tests.cli.test_ask import KERNEL, RIGHT

    one = asking(RIGHT, "Nothing to add.", "Nothing to add.")
    result = one.sent("--phase", "complete,faster", "--write")
    assert "1 of 1 refused kernel proved; 0 of 1 phase with a gain" in result.stdout
    assert result.status == 1
    assert one.file.read_text().count(RIGHT) == 1
    # Without a gain no backward is left behind.
    assert "kernel_backward" not in one.file.read_text()
    asked = one.model.requests[1][2]["messages"][1]["content"]
    assert "def kernel_backward(" in asked
    assert KERNEL.split("@triton.jit")[1].strip() in asked  # the helper


def test_a_session_that_broke_off_is_resumed(asking) -> None:
    one, run = phase(asking, FASTER, Say("down", status=400))
    first = run("--write")
    assert (first.status, "the server answers 400" in first.stdout) == (2, True)
    (journal,) = (one.home / ".local/state/tad-lsp/sessions").iterdir()
    assert journal.parent.stat().st_mode & 0o077 == 0
    one.file.write_text(FILE)
    one.model.script = [Say("That is all.")]
    one.model.requests.clear()
    second = run("--write")
    assert second.status == 0, second.stdout
    assert "resumed: 1 answer of a session that did not end" in second.stdout
    assert LINES in one.file.read_text()
    assert one.model.requests[0][2]["messages"][2]["content"] == FASTER  # it went on from there
    assert not journal.exists()


def test_costs_are_told_by_the_users_prices(asking) -> None:
    one, run = phase(asking, "No.")
    config = one.home / ".config/tad-lsp/model.toml"
    config.parent.mkdir(parents=True)
    config.write_text("price-input = 10\nprice-output = 100\nmax-stalls = 1\n")
    result = run()
    assert "1 answer of scripted, 100 tokens in, 20 out (0.0030 by your prices)" in result.stdout


def test_a_transcript_plays_all_phases(asking) -> None:
    one, run = phase(asking, "No.", "No.", FASTER, "Done.", names="faster,tidy")
    config = one.home / ".config/tad-lsp/model.toml"
    config.parent.mkdir(parents=True)
    config.write_text("max-stalls = 3\nmax-iters = 5\n")
    first = run("--record", "talk.json")
    assert first.status == 0, first.stdout
    config.unlink()
    played = one.ask("--answers", "talk.json", "--phase", "faster,tidy", "--write", key=None)
    assert played.status == 0, played.stdout
    assert LINES in one.file.read_text()
    assert len(one.model.requests) == len(
        json.loads((one.workspace.path / "talk.json").read_text())["turns"]
    )


def test_a_phase_that_is_none(asking) -> None:
    _, run = phase(asking, FASTER, names="better")
    result = run()
    assert (result.status, "there is no `better`, but complete, repair, faster, tidy" in result.stderr) == (
        2,
        True,
    )


HALF = FILE.replace("left + right", "left")


@pytest.mark.parametrize("api", ["openai", "anthropic"])
def test_a_wrong_backward_is_made_right(asking, api: str) -> None:
    """The worker's own words go there, and nothing is kept before it is proved."""
    still = answer(LINES.replace("twice + twice", "twice"))
    one, run = phase(asking, still, answer(SHORT), "More.", names="repair", text=HALF, api=api)
    result = run("--write")
    assert result.status == 0, result.stdout + result.stderr
    assert "answer 1 refused: the gradient of x_ptr is wrong" in result.stdout
    assert "answer 2 kept, proved: worst error " in result.stdout
    assert "stopped: the gradients are proved" in result.stdout
    assert len(one.model.requests) == 2
    first, second = (body for _, _, body in one.model.requests)
    assert "The check says: the gradient of x_ptr is wrong" in json.dumps(first)
    assert "Not right yet, refused: the gradient of x_ptr is wrong" in json.dumps(second)
    text = one.file.read_text()
    assert SHORT in text and "# Proposed by a model (scripted), proved with `scale_kernel`" in text
    check = one.workspace.tad("--check", "--grad", "--format", "json", "kernels.py").json
    assert check["kernels"][0]["status"] == "proved"


def test_a_wrong_backward_stays_as_it_is_without_a_proof(asking) -> None:
    still = answer(LINES.replace("twice + twice", "twice"))
    one, run = phase(asking, still, "I give up.", names="repair", text=HALF)
    result = run("--write")
    assert result.status == 1, result.stdout + result.stderr
    assert "nothing proved was found" in result.stdout
    assert "stopped: 2 answers without a gain" in result.stdout
    assert one.file.read_text() == HALF


def test_a_proved_backward_needs_no_repair(asking) -> None:
    one, run = phase(asking, FASTER, names="repair")
    result = run()
    assert (result.status, one.model.requests) == (0, [])
    assert "the gradients of `scale_kernel` are proved: nothing to repair" in result.stdout


def test_each_phase_has_settings_of_its_own(asking) -> None:
    """Another model thinks about speed than about derivatives, at another price, and a replay knows."""
    from tests.cli.test_ask import RIGHT

    one = asking(RIGHT, "No.", "Neither.")
    config = one.home / ".config/tad-lsp/model.toml"
    config.parent.mkdir(parents=True)
    config.write_text(
        'effort = "low"\nprice-input = 10\nprice-output = 100\n'
        '[faster]\nmodel = "deep"\neffort = "high"\nmax-stalls = 1\nprice-input = 1000\n'
        '[tidy]\nmodel = "small"\ntemperature = 0.5\nmax-stalls = 1\n'
    )
    endpoint = ["--endpoint", one.model.url]
    config.write_text('model = "scripted"\n' + config.read_text())
    phases = ["--phase", "complete,faster,tidy"]
    result = one.ask("--agree", *endpoint, *phases, "--record", "talk.json")
    bodies = [body for _, _, body in one.model.requests]
    assert [body["model"] for body in bodies] == ["scripted", "deep", "small"], result.stdout
    assert [body["reasoning_effort"] for body in bodies] == ["low", "high", "low"]
    assert [body.get("temperature") for body in bodies] == [None, None, 0.5]
    # 0.001 + 0.002 of the first and the last, 0.1 + 0.002 of the other
    assert "(0.1080 by your prices)" in result.stdout
    config.unlink()
    played = one.ask("--answers", "talk.json", *phases, key=None)
    assert "changed since" not in played.stdout + played.stderr
    assert "3 answers of" in played.stdout and len(one.model.requests) == 3
    assert one.ask("--agree", *endpoint, *phases, "--model", "other").status == 1
    assert {body["model"] for _, _, body in one.model.requests[3:]} == {"other"}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[better]\nmodel = 'x'\n", "name a phase `better`: there are complete, repair"),
        ("[faster]\nendpoint = 'http://localhost:1'\n", "a phase has no setting `endpoint`"),
        ("[faster]\nmodel = 3\n", "`model` is a text"),
        ("[faster]\neffort = 'much'\n", "[faster]: `effort` of a model is low, medium or high"),
        ("[faster.model]\nname = 'x'\n", "a phase has no setting `model`"),
    ],
)
def test_settings_of_a_phase_that_cannot_be(asking, text: str, says: str) -> None:
    one, run = phase(asking, FASTER)
    config = one.home / ".config/tad-lsp/model.toml"
    config.parent.mkdir(parents=True)
    config.write_text(text)
    result = run()
    assert (result.status, one.model.requests) == (2, [])
    assert says in result.stderr


def test_a_session_that_was_killed_is_resumed(asking) -> None:
    """Nothing was said at its end; what had been answered by then is not asked for again."""
    one, run = phase(asking, FASTER, Say("Late.", delay=60))
    command = [BIN / "tad-lsp", "--ask", "kernels.py", "--agree", "--phase", "faster"]
    command += ["--endpoint", one.model.url, "--model", "scripted"]
    env = {**os.environ, "HOME": str(one.home), "XDG_CONFIG_HOME": "", "XDG_STATE_HOME": ""}
    session = subprocess.Popen(
        [*map(str, command)], cwd=one.workspace.path, env=env, stdout=subprocess.DEVNULL
    )
    while len(one.model.requests) < 2:
        assert session.poll() is None
        time.sleep(0.05)
    session.kill()
    session.wait()
    assert one.file.read_text() == FILE
    one.model.script = [Say("That is all.")]
    one.model.requests.clear()
    result = run("--write")
    assert result.status == 0, result.stdout + result.stderr
    assert "resumed: 1 answer of a session that did not end" in result.stdout
    assert LINES in one.file.read_text()
    assert one.model.requests[0][2]["messages"][2]["content"] == FASTER
