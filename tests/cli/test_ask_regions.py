"""`--ask` where the rules refuse lines of a kernel that are no call: a model writes those lines anew, and no others."""

from __future__ import annotations

import json

import pytest

from tests.cli.test_ask import KEY, asking
from tests.cli.test_ask import RIGHT as RULE_RIGHT
from tests.support.model_server import Say

__all__ = ["asking"]

HEAD = """import torch
import triton
import triton.language as tl


"""
# The last lanes of the last program all store the last element.
STORE = (
    HEAD
    + """@triton.jit
def square_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    i = tl.where(i < n, i, n - 1)
    x = tl.load(x_ptr + i)
    tl.store(y_ptr + i, x * x)  # of each element


def square(x):
    y = torch.empty_like(x)
    square_kernel[(triton.cdiv(x.numel(), 64),)](x, y, x.numel(), BLOCK=64)
    return y
"""
)
OPEN = "    tl.store(y_ptr + i, x * x)  # of each element\n"
MARK = (
    "    # Proposed by a model (scripted): computes what stood here, proved with `square_kernel`.\n"
)
RIGHT = """    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, x * x, mask=at < n)
"""
# What an iteration reads, the next overwrites; how many there are is not known before the launch.
LOOP = (
    HEAD
    + """@triton.jit
def grow_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    step = 0
    while step < 7:
        x = tl.load(x_ptr + i, mask=i < n, other=0.0)
        tl.store(x_ptr + i, tl.exp(x) * x, mask=i < n)
        step = step * 2 + 1
    tl.store(y_ptr + i, tl.load(x_ptr + i, mask=i < n, other=0.0), mask=i < n)
"""
)


def code(text: str) -> str:
    """An answer with prose around it, and the indentation of no kernel."""
    lines = [line.removeprefix("    ") for line in text.splitlines()]
    return "So that each lane has its own:\n\n```python\n" + "\n".join(lines) + "\n```\nThat is it."


def region(asking, *script, text: str = STORE):
    one = asking(*script)
    one.file.write_text(text)
    return one


@pytest.mark.parametrize("api", ["openai", "anthropic"])
def test_a_refused_store_is_written_anew(asking, api: str) -> None:
    one = asking(code(RIGHT), api=api)
    one.file.write_text(STORE)
    result = one.sent("--write")
    assert result.status == 0, result.stdout + result.stderr
    assert "answer 1 kept: computes what it did; the gradients are proved" in result.stdout
    assert "1 of 1 refused kernel proved" in result.stdout
    assert one.file.read_text() == STORE.replace(OPEN, MARK + RIGHT)
    check = one.workspace.tad("--check", "--grad", "--format", "json", "kernels.py").json
    assert [kernel["status"] for kernel in check["kernels"]] == ["proved"]
    ((_, _, body),) = one.model.requests
    asked = json.dumps(body)
    assert f"    # open from here\n{OPEN}    # to here\n" in body["messages"][-1]["content"]
    assert "def square(" not in asked and KEY not in asked
    assert one.model.bodies[0] in result.stdout  # what was shown is what was sent


def test_whole_kernels_are_agreed_to_apart(asking) -> None:
    one = region(asking, code(RIGHT))
    endpoint = ["--endpoint", one.model.url, "--model", "scripted"]
    result = one.ask(*endpoint)
    assert (result.status, one.model.requests) == (2, [])
    assert "nothing was sent" in result.stderr and "# open from here" in result.stdout
    agreed = one.home / ".local/state/tad-lsp/agreed.json"
    assert not agreed.exists()
    assert one.ask("--agree", *endpoint).status == 0
    (entry,) = json.loads(agreed.read_text())["agreed"]
    assert entry["url"].endswith(" with whole kernels")


def test_a_refused_loop_is_opened_as_a_whole(asking) -> None:
    """The rules name the load; where they refuse it again, the loop around it is open."""
    again = "        x = tl.load(x_ptr + i, mask=i < n, other=0.0) + 0.0\n"
    other = "        x = tl.load(x_ptr + i, mask=i < n, other=1.0)\n"
    loop = """    for step in range(3):
        x = tl.load(x_ptr + i, mask=i < n, other=0.0)
        tl.store(x_ptr + i, tl.exp(x) * x, mask=i < n)
"""
    one = region(asking, code(again), code(other), code(loop), text=LOOP)
    result = one.sent("--write")
    assert result.status == 0, result.stdout + result.stderr
    turns = [body["messages"][-1]["content"] for _, _, body in one.model.requests]
    assert "        # open from here\n        x = tl.load(" in turns[0]
    assert "The rules refuse these lines, too: " in turns[1]
    assert "More lines are open now." in turns[2]
    assert "    # open from here\n    while step < 7:\n" in turns[2]
    assert loop in one.file.read_text() and "while" not in one.file.read_text()
    check = one.workspace.tad("--check", "--grad", "--format", "json", "kernels.py").json
    assert [kernel["status"] for kernel in check["kernels"]] == ["proved"]


PUT = """@triton.jit
def put(y_ptr, i, x, n, BLOCK: tl.constexpr):
    tl.store(y_ptr + i, x * x)


"""
CALLS = STORE.replace(OPEN, "    put(y_ptr, i, x, n, BLOCK)\n")


def test_refused_lines_of_a_helper_are_written_anew(asking) -> None:
    """No rule for values can stand for a store: its line is open, where it stands."""
    one = region(asking, code(RIGHT), text=CALLS.replace(HEAD, HEAD + PUT))
    result = one.sent("--write")
    assert result.status == 0, result.stdout + result.stderr
    asked = one.model.requests[0][2]["messages"][-1]["content"]
    assert "In `put` a gradient stops at the open lines" in asked
    assert "    # open from here\n    tl.store(y_ptr + i, x * x)\n    # to here" in asked
    assert "def square_kernel" not in asked
    assert RIGHT in one.file.read_text()
    check = one.workspace.tad("--check", "--grad", "--format", "json", "kernels.py").json
    assert [kernel["status"] for kernel in check["kernels"]] == ["proved"]


def test_where_a_helper_of_another_file_stands_is_said(asking) -> None:
    text = CALLS.replace(HEAD, HEAD[:-2] + "from helpers import put\n\n\n")
    one = region(asking, code(RIGHT), text=text)
    one.workspace.write({"helpers.py": HEAD + PUT})
    result = one.sent()
    assert (result.status, one.model.requests) == (1, [])
    assert (
        "it stands in line 8 of " in result.stdout
        and "helpers.py: only what stands" in result.stdout
    )


BAD = {
    "another value": (
        RIGHT.replace("x * x,", "x * x + 1.0,"),
        "the kernel stores other numbers than before: element ",
    ),
    "another gradient": (RIGHT.replace("x * x", "x * x * x"), "other numbers than before"),
    "out of bounds": (RIGHT.replace("mask=at < n", "mask=at < n + 1"), ""),
    "nothing": (
        "    at = tl.program_id(0)\n",
        "with it no gradient passes any more",
    ),
    "a function": (
        RIGHT + "\n\ndef more():\n    return 1\n",
        "Triton cannot compile a function defined inside a kernel",
    ),
    "open text": (RIGHT + '    z = """\n', "does not parse in the place of the open lines"),
    "half a call": (RIGHT + "    tl.store(y_ptr + at\n", "the open lines (its line "),
    "a comment of ours": (RIGHT + "    # tad: ignore-file\n", "has a comment for tad-lsp"),
    "prose": ("I would rather not.", "does not parse in the place of the open lines"),
    "a file": (RIGHT + "    open('/etc/passwd').read()\n", "does not know Python's `open`"),
    "a program": (
        RIGHT + "    import os\n    os.system('touch owned')\n",
        "Triton cannot compile `import` inside a kernel",
    ),
    "no code": ("", "cannot be used: it has no code"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_is_wrong_or_reaches_further_is_refused(asking, case: str) -> None:
    text, says = BAD[case]
    one = region(asking, text if case == "prose" else code(text))
    result = one.sent("--write", "--max-iters", "1")
    assert result.status == 1, result.stdout + result.stderr
    assert says in result.stdout
    assert "0 of 1 refused kernel proved" in result.stdout
    assert one.file.read_text() == STORE
    assert not (one.workspace.path / "owned").exists()


ABOVE = STORE.split(OPEN)[0].split("\n\n\n")[-1]
WHOLE = {
    "as a whole": ABOVE + RIGHT,
    "without its blanks": ABOVE.replace("\n", "   \n\n", 2) + RIGHT,
    "with the marks": ABOVE.replace("x = ", "x  = ") + f"    # open from here\n{RIGHT}    # to here\n",
}


@pytest.mark.parametrize("case", WHOLE)
def test_the_whole_kernel_may_be_given_for_its_open_lines(asking, case: str) -> None:
    one = region(asking, f"```python\n{WHOLE[case]}```")
    result = one.sent("--write")
    assert result.status == 0, result.stdout + result.stderr
    assert one.file.read_text() == STORE.replace(OPEN, MARK + RIGHT)


def test_a_whole_kernel_with_other_locked_lines_is_refused(asking) -> None:
    other = (ABOVE + RIGHT).replace("x = tl.load(x_ptr + i)", "x = tl.load(x_ptr + i) + 1.0")
    one = region(asking, f"```python\n{other}```")
    result = one.sent("--write", "--max-iters", "1")
    assert result.status == 1
    assert "Triton cannot compile a function defined inside a kernel" in result.stdout
    assert one.file.read_text() == STORE


def test_a_wrong_answer_gets_the_words_of_the_check(asking) -> None:
    one = region(asking, code(BAD["another value"][0]), code(RIGHT))
    result = one.sent()
    assert result.status == 0, result.stdout
    said = one.model.requests[1][2]["messages"][-1]["content"]
    assert "That is not right: " in said and "other numbers than before: element " in said
    assert one.file.read_text() == STORE


def test_two_refused_places_are_asked_about_one_after_the_other(asking) -> None:
    two = STORE.replace(
        "def square_kernel(x_ptr, y_ptr,", "def square_kernel(x_ptr, y_ptr, z_ptr,"
    ).replace(OPEN, OPEN + "    tl.store(z_ptr + i, x * x * x)\n")
    two = two.replace("(x, y, x.numel()", "(x, y, torch.empty_like(x), x.numel()")
    cube = RIGHT.replace("y_ptr", "z_ptr").replace("x * x", "x * x * x")
    one = region(asking, code(RIGHT), code(cube), text=two)
    result = one.sent("--write")
    assert result.status == 0, result.stdout + result.stderr
    said = one.model.requests[1][2]["messages"][-1]["content"]
    assert "The rules take these lines." in said
    assert "    # open from here\n    tl.store(z_ptr + i, x * x * x)\n    # to here" in said
    text = one.file.read_text()
    assert RIGHT in text and cube in text and text.count("# Proposed by a model") == 2


def test_a_transcript_plays_it(asking) -> None:
    one = region(asking, "Hm.", code(RIGHT))
    assert one.sent("--record", "talk.json").status == 0
    played = one.ask("--answers", "talk.json", "--write", key=None)
    assert played.status == 0, played.stdout + played.stderr
    assert MARK + RIGHT in one.file.read_text() and len(one.model.requests) == 2


GAMMA = """@triton.jit
def log_gamma(x):
    return libdevice.lgamma(x)


"""
CALLER = (
    HEAD
    + """# What it is for.
# tad: n=100, BLOCK=32
@triton.jit
def kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=1.0)
    tl.store(y_ptr + i, log_gamma(1 + x * x), mask=i < n)
"""
)
IMPORTS = HEAD.rstrip() + "\nfrom triton.language.extra import libdevice\n\n\n"


def elsewhere(asking, *script, name: str = "log_gamma", text: str = CALLER):
    """A kernel whose helper stands in another file, which it has under this name."""
    one = asking(*script)
    bound = f"log_gamma as {name}" if name != "log_gamma" else name
    head = HEAD.rstrip() + f"\nfrom helpers import {bound}\n\n\n"
    one.file.write_text(text.replace(HEAD, head).replace("log_gamma(1", f"{name}(1"))
    one.workspace.write({"helpers.py": IMPORTS + GAMMA})
    return one


@pytest.mark.parametrize("name", ["log_gamma", "lg"])
def test_a_helper_of_another_file_gets_its_rule_here(asking, name: str) -> None:
    rule = RULE_RIGHT.replace("log_gamma", name)
    one = elsewhere(asking, f"{rule} # wrong", rule, name=name)
    before = one.file.read_text()
    result = one.sent("--write")
    assert result.status == 0, result.stdout + result.stderr
    asked = one.model.requests[0][2]["messages"][-1]["content"]
    assert f"In the helper `{name}` a gradient stops at `libdevice.lgamma(x)`" in asked
    assert "def log_gamma(x):" in asked and f"# tad: backward of {name}(x): ..." in asked
    assert "def kernel" not in json.dumps(one.model.requests[0][2])
    text = one.file.read_text()
    mark = "# Proposed by a model (scripted), proved with `kernel`: worst error "
    (line,) = [each for each in text.splitlines() if each.startswith(mark)]
    assert text == before.replace("# What it", f"{line}\n{rule}\n\n# What it")
    assert (one.workspace.path / "helpers.py").read_text() == IMPORTS + GAMMA
    check = one.workspace.tad("--check", "--grad", "--format", "json", "kernels.py").json
    assert [kernel["status"] for kernel in check["kernels"]] == ["proved"]


def test_helpers_of_other_files_are_agreed_to_apart(asking) -> None:
    one = elsewhere(asking, RULE_RIGHT)
    endpoint = ["--endpoint", one.model.url, "--model", "scripted"]
    result = one.ask(*endpoint)
    assert (result.status, one.model.requests) == (2, [])
    assert "nothing was sent" in result.stderr and "def log_gamma(x):" in result.stdout
    assert one.ask("--agree", *endpoint).status == 0
    agreed = one.home / ".local/state/tad-lsp/agreed.json"
    (entry,) = json.loads(agreed.read_text())["agreed"]
    assert entry["url"].endswith(" with helpers of other files")


# A helper here, one elsewhere, and two stores.
MANY = (
    STORE.replace("y_ptr, n,", "y_ptr, z_ptr, n,")
    .replace(OPEN, OPEN + "    tl.store(z_ptr + i, own_gamma(1 + x * x) + log_gamma(2 + x * x))\n")
    .replace("(x, y, x.numel()", "(x, y, torch.empty_like(x), x.numel()")
    .replace(
        "@triton.jit\ndef square",
        GAMMA.replace("log_gamma", "own_gamma") + "@triton.jit\ndef square",
    )
)


def test_helpers_and_lines_of_one_kernel_are_asked_about_one_after_the_other(asking) -> None:
    """Whichever the rules name first: each question is answered by what it asks for."""
    one = asking("")
    head = IMPORTS.rstrip() + "\nfrom helpers import log_gamma\n\n\n"
    one.file.write_text(MANY.replace(HEAD, head))
    one.workspace.write({"helpers.py": IMPORTS + GAMMA})
    last = "    tl.store(z_ptr + i, own_gamma(1 + x * x) + log_gamma(2 + x * x))"
    moved = "    tl.store(z_ptr + at, own_gamma(1 + x * x) + log_gamma(2 + x * x), mask=at < n)\n"
    asked = []

    def answer(body: dict) -> Say:
        turn = body["messages"][-1]["content"]
        asked.append(turn)
        for helper in ("own_gamma", "log_gamma"):
            if f"In the helper `{helper}` a gradient stops" in turn:
                return Say(RULE_RIGHT.replace("log_gamma", helper))
        at = RIGHT.splitlines(keepends=True)[0]
        is_last = f"# open from here\n{last}\n    # to here" in turn
        return Say(code(at + moved if is_last else RIGHT))

    one.model.answer = answer
    result = one.sent("--write", "--max-iters", "8")
    assert result.status == 0, result.stdout + result.stderr
    assert "1 of 1 refused kernel proved; 4 answers of scripted" in result.stdout
    assert sum("In the helper" in turn for turn in asked) == 2
    text = one.file.read_text()
    assert RULE_RIGHT in text and RULE_RIGHT.replace("log_gamma", "own_gamma") in text
    assert RIGHT in text and moved in text
    check = one.workspace.tad("--check", "--grad", "--format", "json", "kernels.py").json
    assert [kernel["status"] for kernel in check["kernels"]] == ["proved"]
    # The answers are counted together, and what is not proved to its end is not kept.
    one.file.write_text(MANY.replace(HEAD, head))
    short = one.sent("--write", "--max-iters", "3")
    assert short.status == 1 and "0 of 1 refused kernel proved; 3 answers" in short.stdout
    assert one.file.read_text() == MANY.replace(HEAD, head)
