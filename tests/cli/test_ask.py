"""`--ask`: a model may answer what the rules refuse. Its words are checked, and nothing leaves unasked."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.cli.conftest import Result, Workspace
from tests.support.model_server import Model, Say

KERNEL = """import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def log_gamma(x):
    # of positive numbers
    return libdevice.lgamma(x)


@triton.jit
def kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=1.0)
    tl.store(y_ptr + i, log_gamma(1 + x * x), mask=i < n)
"""
PTX = KERNEL.replace(
    "libdevice.lgamma(x)",
    'tl.inline_asm_elementwise("{ .reg .b16 h; cvt.rn.f16.f32 h, $1; ex2.approx.f16 h, h; cvt.f32.f16 $0, h; }", '
    '"=f,f", [x], dtype=tl.float32, is_pure=True, pack=1)',
)
KEY = "sk-very-secret-0123456789"
POWER = "(x + 6) * (x + 6)"
DIGAMMA = (
    f"tl.log(x + 6) - 0.5 / (x + 6) - 1.0 / (12 * {POWER}) + 1.0 / (120.0 * {POWER} * {POWER})"
    f" - 3.968253968e-3 / ({POWER} * {POWER} * {POWER})"
    + "".join(f" - 1 / (x + {i})" for i in range(6))
)
RULE = "# tad: backward of log_gamma(x): "
RIGHT = f"{RULE}grad * ({DIGAMMA})"
WRONG = f"{RULE}grad / x"


class Asking:
    """A workspace, a model that listens, and a home where nothing is agreed yet."""

    def __init__(self, workspace: Workspace, home: Path, model: Model) -> None:
        self.workspace, self.home, self.model = workspace, home, model
        self.file = workspace.path / "kernels.py"
        workspace.write({"kernels.py": KERNEL, "pyproject.toml": ""})

    def ask(self, *arguments: object, key: str | None = KEY, **environment: str) -> Result:
        env = {"HOME": str(self.home), **environment}
        for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME"):
            env.setdefault(name, "")
        if key:
            env["TAD_MODEL_KEY"] = key
        result = self.workspace.tad("--ask", "kernels.py", *arguments, env=env)
        assert KEY not in result.stdout + result.stderr
        for file in [*self.home.rglob("*"), *self.workspace.path.rglob("*")]:
            if file.is_file():
                assert KEY.encode() not in file.read_bytes(), file
        return result

    def sent(self, *arguments: object, **environment: str) -> Result:
        endpoint = ["--endpoint", self.model.url, "--model", "scripted", "--api", self.model.api]
        return self.ask("--agree", *endpoint, *arguments, **environment)


@pytest.fixture
def asking(tmp_path: Path, request: pytest.FixtureRequest):
    made = []

    def make(*script: Say | str, api: str = "openai") -> Asking:
        says = [Say(say) if isinstance(say, str) else say for say in script]
        folder = tmp_path / f"work{len(made)}"
        home = tmp_path / f"home{len(made)}"
        folder.mkdir()
        home.mkdir()
        made.append(Asking(Workspace(folder), home, Model(api, says)))
        return made[-1]

    yield make
    for one in made:
        one.model.close()


@pytest.mark.parametrize("api", ["openai", "anthropic"])
@pytest.mark.parametrize("streams", [True, False])
def test_a_right_answer_is_proved(asking, api: str, streams: bool) -> None:
    one = asking(
        Say(f"Here it is:\n\n```python\n{RIGHT}\n```\nIt uses a series.", streams=streams), api=api
    )
    result = one.sent()
    assert result.status == 0, result.stdout + result.stderr
    assert f"    {RIGHT}\n      proved, worst error" in result.stdout
    assert (
        "1 of 1 refused kernel proved; 1 answer of scripted, 100 tokens in, 20 out" in result.stdout
    )
    assert f"+{RIGHT}\n" in result.stdout
    assert one.file.read_text() == KERNEL
    ((path, headers, body),) = one.model.requests
    assert path == ("/v1/messages" if api == "anthropic" else "/v1/chat/completions")
    assert headers["x-api-key" if api == "anthropic" else "Authorization"].endswith(KEY)
    assert body["model"] == "scripted"
    assert "def kernel" not in json.dumps(body)  # the helper alone
    assert one.model.bodies[0] in result.stdout  # what was shown is what was sent


def test_effort_and_budget_are_said_on_the_command_line(asking) -> None:
    one = asking(WRONG, RIGHT)
    result = one.sent("--effort", "high", "--max-tokens", "100")
    assert "stopped: the budget of 100 tokens is spent" in result.stdout
    ((_, _, body),) = one.model.requests
    assert body["reasoning_effort"] == "high"
    result = one.sent("--effort", "extreme")
    assert (result.status, len(one.model.requests)) == (2, 1)
    assert "`effort` of a model is low, medium or high" in result.stderr
    assert one.sent("--max-tokens", "0").status == 2
    assert one.sent("--temperature", "-1").status == 2


def test_the_command_line_takes_the_place_of_the_users_file(asking) -> None:
    one = asking(Say(RIGHT, delay=20))
    config = one.home / ".config/tad-lsp/model.toml"
    config.parent.mkdir(parents=True)
    config.write_text("max-seconds = 100\ntemperature = 0.5\n")
    result = one.sent("--max-seconds", "1", "--temperature", "0.25")
    assert (result.status, "there was no time left for the answer" in result.stdout) == (2, True)
    ((_, _, body),) = one.model.requests
    assert body["temperature"] == 0.25


def test_a_session_ends_without_a_gain(asking) -> None:
    """An answer is a gain where it is nearer to a proof than the best before it, or less wrong."""
    useless = ["I would rather not.", "Not today.", "No."]
    one = asking(*useless, RIGHT)
    result = one.sent()
    assert (result.status, len(one.model.requests)) == (1, 2)
    assert "stopped: 2 answers without a gain" in result.stdout
    said = one.model.requests[1][2]["messages"][-1]["content"]
    assert "It begins with `# tad: backward of log_gamma(x): `." in said
    one = asking(*useless, RIGHT)
    assert one.sent("--max-stalls", "4").status == 0
    one = asking(useless[0], f"{RULE}grad * 9", useless[1], RIGHT)
    assert one.sent().status == 0
    one = asking(f"{RULE}grad * 9", f"{RULE}grad * 99", f"{RULE}grad * 999", RIGHT)
    result = one.sent()
    assert (result.status, len(one.model.requests)) == (1, 3)
    assert "stopped: 2 answers without a gain" in result.stdout


def test_what_is_proved_is_written_with_its_mark(asking) -> None:
    one = asking(RIGHT)
    assert one.sent("--write").status == 0
    mark, rule = one.file.read_text().split("@triton.jit")[0].splitlines()[-2:]
    assert mark.startswith("# Proposed by a model (scripted), proved with `kernel`: worst error ")
    assert rule == RIGHT
    assert one.file.read_text().replace(f"{mark}\n{rule}\n", "") == KERNEL
    check = one.workspace.tad("--check", "--grad", "--format", "json", "kernels.py").json
    assert check["kernels"][0]["status"] == "proved"
    again = one.sent()
    assert "the rules refuse nothing" in again.stdout
    assert len(one.model.requests) == 1


def test_a_wrong_answer_gets_the_words_of_the_check(asking) -> None:
    one = asking(WRONG, RIGHT)
    result = one.sent("-o", "better.py")
    assert result.status == 0, result.stdout
    assert result.stdout.index("refuted: the gradient of x_ptr is wrong") < result.stdout.index(
        "proved, worst"
    )
    turns = one.model.requests[1][2]["messages"]
    assert [turn["role"] for turn in turns] == ["system", "user", "assistant", "user"]
    assert turns[2]["content"] == WRONG
    assert "the gradient of x_ptr is wrong: relative error" in turns[3]["content"]
    assert RIGHT in (one.workspace.path / "better.py").read_text()
    assert one.file.read_text() == KERNEL


DIRECT = """import triton
import triton.language as tl
from triton.language.extra import libdevice


# Sums of logarithms.
@triton.autotune(configs=[triton.Config({"BLOCK": 64})], key=["n"])
@triton.jit
def kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=1.0)
    y = libdevice.lgamma(1 + x * x) - libdevice.lgamma(2.5) + libdevice.lgamma(arg0=x * x + 2)
    tl.store(y_ptr + i, y, mask=i < n)
"""


def test_what_stands_in_the_kernel_itself_is_put_into_a_helper(asking) -> None:
    rule = f"# tad: backward of kernel_lgamma(value_0): grad * ({DIGAMMA})".replace(
        "(x ", "(value_0 "
    )
    other = rule.replace("kernel_lgamma", "kernel_lgamma_2")
    one = asking(rule, other)
    one.file.write_text(DIRECT)
    result = one.sent("--write")
    assert result.status == 0, result.stdout
    text = one.file.read_text()
    head, kernel = text.split("# Sums of logarithms.")
    assert (
        f"{rule}\n@triton.jit\ndef kernel_lgamma(value_0):\n    return libdevice.lgamma(arg0=value_0)\n"
        in head
    )
    assert (
        f"{other}\n@triton.jit\ndef kernel_lgamma_2(value_0):\n    return libdevice.lgamma(value_0)\n"
        in head
    )
    assert "kernel_lgamma_2(1 + x * x) - libdevice.lgamma(2.5) + kernel_lgamma(x * x + 2)" in kernel
    assert kernel.startswith("\n@triton.autotune")
    assert len(one.model.requests) == 2
    assert "store" not in one.model.bodies[0]  # nothing else of the kernel
    check = one.workspace.tad("--check", "--grad", "--format", "json", "kernels.py").json
    assert check["kernels"][0]["status"] == "proved"


def test_two_calls_of_one_form_share_a_helper(asking) -> None:
    rule = f"# tad: backward of kernel_lgamma(value_0): grad * ({DIGAMMA})".replace(
        "(x ", "(value_0 "
    )
    one = asking(rule)
    one.file.write_text(DIRECT.replace("arg0=x * x + 2", "x * x + 2"))
    result = one.sent("--write")
    assert result.status == 0, result.stdout
    assert one.file.read_text().count("def kernel_lgamma") == 1


def test_what_was_put_into_a_helper_goes_without_a_proof(asking) -> None:
    one = asking("I do not know.")
    one.file.write_text(DIRECT)
    result = one.sent("--write", "--max-iters", "1")
    assert (result.status, one.file.read_text()) == (1, DIRECT)


def test_an_operation_with_an_effect_stays_where_it_is(asking) -> None:
    text = DIRECT.replace("tl.store(y_ptr + i, ", "tl.atomic_max(y_ptr + i, x, mask=i < n)  # ")
    one = asking("No.")
    one.file.write_text(text)
    result = one.sent("--write")
    assert result.status == 1, result.stdout
    asked = one.model.requests[0][2]["messages"][-1]["content"]
    assert "    # open from here\n    tl.atomic_max(" in asked  # its own lines, and no helper around it
    assert "def kernel_atomic_max" not in asked
    assert one.file.read_text() == text


USELESS = {
    "I cannot help with that.": "there is no such line in it",
    f"{RULE}open('/etc/passwd').read()": "`open`: Triton does not know Python's `open` in a kernel",
    f"{RULE}__import__('os').system('touch owned')": "`__import__` is not defined here",
    f"{RULE}grad *": "this is no list of expressions",
    f"{RULE}grad  # tad: ignore": "its rule has a second comment in it",
    f"{RULE}grad * résultat": "its rule has characters that no expression has",
    f"{RULE}grad * 2": "refuted: the gradient of x_ptr is wrong",
    f"{RULE}None": "with it no gradient passes any more",
    "# tad: backward of other(x): grad": "there is no such line in it",
}


@pytest.mark.parametrize("answer", USELESS)
def test_a_useless_answer_is_told_and_nothing_is_written(asking, answer: str) -> None:
    one = asking(answer)
    result = one.sent("--write", "--max-iters", "2")
    assert result.status == 1
    assert USELESS[answer] in result.stdout
    assert "0 of 1 refused kernel proved" in result.stdout
    assert "stopped: " in result.stdout
    assert one.file.read_text() == KERNEL


def test_what_nothing_can_check_is_shown_and_not_written(asking) -> None:
    one = asking(f"{RULE}grad * result * 0.6931471805599453")
    one.file.write_text(PTX)
    result = one.sent("--write")
    assert result.status == 1
    assert "NOT CHECKED: the derivative of `log_gamma` is given by hand" in result.stdout
    assert one.file.read_text() == PTX
    assert len(one.model.requests) == 1


def test_nothing_is_sent_before_the_user_agrees(asking) -> None:
    one = asking(RIGHT)
    endpoint = ["--endpoint", one.model.url, "--model", "scripted"]
    before = one.ask(*endpoint)
    assert before.status == 2
    assert "nothing was sent" in before.stderr
    assert f"POST {one.model.url}/chat/completions\n" in before.stdout
    assert "Authorization: Bearer (the value of $TAD_MODEL_KEY)" in before.stdout
    assert one.model.requests == []
    assert one.ask(*endpoint, "--agree").status == 0
    assert one.model.bodies[0] in before.stdout
    # From now on for this workspace and this endpoint, and for no other.
    later = one.ask(*endpoint)
    assert (later.status, len(one.model.requests)) == (0, 2)
    assert "POST" not in later.stdout
    other = one.ask("--endpoint", one.model.url + "/other", "--model", "scripted")
    assert (other.status, len(one.model.requests)) == (2, 2)
    nested = one.workspace.path / "vendor"
    (nested / ".git").mkdir(parents=True)
    (nested / "kernels.py").write_text(KERNEL)
    elsewhere = Workspace(nested).tad(
        "--ask", "kernels.py", *endpoint, env={"HOME": str(one.home), "XDG_STATE_HOME": ""}
    )
    assert (elsewhere.status, len(one.model.requests)) == (2, 2)


def test_a_workspace_cannot_configure_or_agree(asking) -> None:
    one = asking(RIGHT)
    config = f'endpoint = "{one.model.url}"\nmodel = "scripted"\n'
    agreed = {
        "agreed": [
            {"workspace": str(one.workspace.path), "url": f"{one.model.url}/chat/completions"}
        ]
    }
    one.workspace.write(
        {
            "pyproject.toml": f"[tool.tad.model]\n{config}agree = true\n",
            "tad-lsp/model.toml": config,
            ".config/tad-lsp/model.toml": config,
            "tad-lsp/agreed.json": json.dumps(agreed),
            ".local/state/tad-lsp/agreed.json": json.dumps(agreed),
        }
    )
    here = str(one.workspace.path)
    result = one.ask()
    assert result.status == 2
    assert "no model is set up" in result.stderr
    # Not either where the environment leads into it.
    result = one.ask(HOME=here)
    assert (result.status, "which cannot speak for you" in result.stderr) == (2, True)
    endpoint = ["--endpoint", one.model.url, "--model", "scripted"]
    for environment in ({"HOME": here}, {"XDG_STATE_HOME": here}):
        result = one.ask(*endpoint, **environment)
        assert (result.status, "nothing was sent" in result.stderr) == (2, True)
    assert one.model.requests == []
    said = one.workspace.tad("--check", "kernels.py")
    assert "a project says nothing of a model" in said.stderr


def test_the_users_own_file(asking) -> None:
    one = asking(RIGHT, api="anthropic")
    file = one.home / ".config/tad-lsp/model.toml"
    file.parent.mkdir(parents=True)
    lines = [
        f'endpoint = "{one.model.url}/"',
        'api = "anthropic"',
        'model = "from-file"',
        "temperature = 0.5",
        'effort = "low"',
        'key-variable = "OTHER_KEY"',
    ]
    file.write_text("\n".join(lines))
    assert one.ask("--agree", key=None, OTHER_KEY=KEY).status == 0
    _, headers, body = one.model.requests[0]
    assert headers["x-api-key"] == KEY
    assert (body["model"], body["temperature"]) == ("from-file", 0.5)
    assert body["thinking"] == {"type": "enabled", "budget_tokens": 2048}
    os.chmod(file, 0o666)
    result = one.ask(key=None)
    assert (result.status, "can be written by others" in result.stderr) == (2, True)
    os.chmod(file, 0o600)
    for line, says in {
        "tempreature = 1": "there is no setting `tempreature`",
        "model = 3": "`model` is a text",
        'effort = "huge"': "low, medium or high",
    }.items():
        file.write_text(f"{line}\n" if "model" in line else "\n".join([*lines[:3], line]))
        result = one.ask(key=None)
        assert (result.status, says in result.stderr) == (2, True), result.stderr


TROUBLE = {
    401: (
        f"Incorrect API key provided: {KEY}",
        "the server answers 401 (the key): Incorrect API key provided: (key)",
        1,
    ),
    404: ("no such model", "the server answers 404", 1),
    500: ("it broke", "the server answers 500: it broke", 4),
    302: ("elsewhere", "the server answers 302", 1),
}


@pytest.mark.parametrize("status", TROUBLE)
def test_trouble_of_the_server(asking, status: int) -> None:
    text, says, tries = TROUBLE[status]
    headers = {"Location": "http://127.0.0.1:1/v1/elsewhere"} if status == 302 else {}
    one = asking(Say(text, status=status, headers=headers))
    result = one.sent("--write")
    assert result.status == 2
    assert says in result.stdout
    assert len(one.model.requests) == tries
    assert one.file.read_text() == KERNEL


def test_tries_again(asking) -> None:
    one = asking(
        Say("busy", status=429, headers={"Retry-After": "1"}),
        Say("broken", status=503),
        Say(RIGHT, cut=True),
        RIGHT,
    )
    result = one.sent()
    assert result.status == 0, result.stdout
    assert len(one.model.requests) == 4
    one = asking(Say("busy", status=429, headers={"Retry-After": "3600"}))
    result = one.sent()
    assert (result.status, "429 (too many requests): busy" in result.stdout) == (2, True)
    assert len(one.model.requests) == 1


def test_the_answer_has_a_limit_in_size_and_time(asking) -> None:
    one = asking(Say(RIGHT, bytes=50_000_000))
    result = one.sent()
    assert (result.status, "the answer is larger than 4000000 bytes" in result.stdout) == (2, True)
    one = asking(Say(RIGHT, cut=True))
    result = one.sent()
    assert (result.status, "the answer broke off" in result.stdout) == (2, True)
    one = asking(Say(RIGHT, delay=20))
    config = one.home / ".config/tad-lsp/model.toml"
    config.parent.mkdir(parents=True)
    config.write_text("max-seconds = 1\n")
    result = one.sent()
    assert (result.status, "there was no time left for the answer" in result.stdout) == (2, True)


def test_the_budget_of_tokens(asking) -> None:
    one = asking(WRONG, f"{RULE}grad", RIGHT)
    config = one.home / ".config/tad-lsp/model.toml"
    config.parent.mkdir(parents=True)
    config.write_text("max-tokens = 200\n")
    result = one.sent()
    assert "stopped: the budget of 200 tokens is spent" in result.stdout
    assert len(one.model.requests) == 2


def test_a_transcript_is_played_without_a_network(asking) -> None:
    one = asking(WRONG, f"{RIGHT}\nYour key is {KEY}.")
    first = one.sent("--record", "talk.json")
    assert first.status == 0, first.stdout
    talk = json.loads((one.workspace.path / "talk.json").read_text())
    assert [turn["answer"] for turn in talk["turns"]] == [WRONG, f"{RIGHT}\nYour key is (key)."]
    played = one.ask("--answers", "talk.json", "--write", key=None)
    assert played.status == 0, played.stdout + played.stderr
    assert len(one.model.requests) == 2
    assert RIGHT in one.file.read_text()
    one.file.write_text(KERNEL.replace("positive", "negative"))
    other = one.ask("--answers", "talk.json", key=None)
    assert (other.status, "request 1 is another than in the transcript" in other.stdout) == (
        2,
        True,
    )


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("http://example.invalid/v1", "is sent to other machines by https alone"),
        ("http://127.example.invalid/v1", "is sent to other machines by https alone"),
        ("https://user:password@example.invalid/v1", "has no name, password"),
        ("file:///etc/passwd", "begins with https:// or http://"),
        ("https:///v1", "names a host"),
    ],
)
def test_endpoints_that_are_refused(asking, url: str, says: str) -> None:
    result = asking(RIGHT).ask("--endpoint", url, "--model", "m", "--agree")
    assert result.status == 2
    assert says in result.stderr


def test_the_rest_of_the_file_stays_as_it_is(asking) -> None:
    """Line ends, indentation, other comments."""
    one = asking(RIGHT)
    text = KERNEL.replace("@triton.jit\ndef log", "# mine\nif True:\n    @triton.jit\n    def log")
    text = text.replace("    # of positive numbers\n    return", "        return")
    for made in (text, text.replace("\n", "\r\n")):
        one.file.write_bytes(made.encode())
        end = "\r\n" if "\r" in made else "\n"
        assert one.sent("--write").status == 0
        lines = one.file.read_bytes().decode().split(end)
        place = lines.index(f"    {RIGHT}")
        assert lines[place - 1].startswith("    # Proposed by a model (scripted), proved with ")
        del lines[place - 1 : place + 1]
        assert end.join(lines) == made


def test_proxies(asking) -> None:
    """The user's own, the environment's, and none for this machine."""
    one = asking(RIGHT)
    proxy = one.model.url.removesuffix("/v1")
    config = one.home / ".config/tad-lsp/model.toml"
    config.parent.mkdir(parents=True)
    far = 'endpoint = "http://example.invalid/v1"\nmodel = "m"\n'
    config.write_text(far + f'proxy = "{proxy}"\n')
    assert one.ask("--agree", key=None, http_proxy="http://127.0.0.1:1").status == 0
    config.write_text(far)
    assert one.ask("--agree", key=None, http_proxy=proxy).status == 0
    config.unlink()
    assert one.sent(http_proxy="http://127.0.0.1:1", ALL_PROXY="http://127.0.0.1:1").status == 0
    paths = [path for path, _, _ in one.model.requests]
    assert paths == ["http://example.invalid/v1/chat/completions"] * 2 + ["/v1/chat/completions"]
    missing = f'endpoint = "https://127.0.0.1:{proxy.split(":")[-1]}/v1"\nmodel = "m"\nca-file = "/nowhere.pem"\n'
    config.write_text(missing)
    result = one.ask("--agree")
    assert (result.status, len(one.model.requests)) == (2, 3)
    assert "nowhere.pem" in result.stdout


def test_a_kernel_that_is_not_there(asking) -> None:
    one = asking(RIGHT)
    one.file.write_text(KERNEL)
    result = one.workspace.tad(
        "--ask", "kernels.py:karnel", "--endpoint", one.model.url, "--model", "m"
    )
    assert (result.status, "has no kernel `karnel`" in result.stderr) == (2, True)


def test_two_helpers_of_one_kernel(asking) -> None:
    """The second is seen when the first has a rule; both are answered in the end, and proved together."""
    second = KERNEL.replace(
        "@triton.jit\ndef kernel",
        "@triton.jit\ndef gamma(x):\n    return libdevice.tgamma(x)\n\n\n@triton.jit\ndef kernel",
    ).replace("log_gamma(1 + x * x)", "log_gamma(1 + x * x) * gamma(2 + tl.sigmoid(x))")
    other = f"# tad: backward of gamma(x): grad * result * ({DIGAMMA})"
    one = asking(RIGHT, f"{RIGHT}\n{other}")
    one.file.write_text(second)
    if not one.sent().stdout.count("def gamma"):
        one = asking(other, f"{RIGHT}\n{other}")
        one.file.write_text(second)
    result = one.sent("--write")
    assert result.status == 0, result.stdout
    assert "not enough: " in result.stdout
    assert {RIGHT, other} <= set(one.file.read_text().splitlines())


def test_examples_come_from_the_index_and_are_agreed_to_apart(asking) -> None:
    it = asking(RIGHT, RIGHT)
    double = KERNEL.replace("log_gamma(1 + x * x)", "tl.exp(x)").replace(
        "def kernel", "def example_{}"
    )
    it.workspace.write(
        {
            "elsewhere/pair.py": double.format("forward")
            + double[double.index("@triton.jit\ndef example") :].format("backward")
            + "\n\nclass Own(torch.autograd.Function):\n"
            "    def forward(ctx, x):\n        example_forward[(1,)](x, x, 4, 8)\n"
            "    def backward(ctx, g):\n        example_backward[(1,)](g, g, 4, 8)\n"
        }
    )
    data = {"XDG_DATA_HOME": str(it.home / "data")}
    missing = it.sent("--examples", "1", **data)
    assert missing.status == 1
    assert "nothing is indexed" in missing.stdout
    assert it.model.requests == []
    assert it.workspace.tad("--index", "elsewhere", env=data).status == 0
    assert it.sent(**data).status == 0
    assert "example_" not in json.dumps(it.model.requests[0][2])
    endpoint = ("--endpoint", it.model.url, "--model", "scripted", "--examples", "1")
    shown = it.ask(*endpoint, **data)
    assert shown.status == 2
    assert "def example_forward(" in shown.stdout
    assert "def example_backward(" in shown.stdout
    assert len(it.model.requests) == 1
    assert it.sent("--examples", "1", **data).status == 0
    assert "def example_backward(" in json.dumps(it.model.requests[1][2])
    inside = it.ask(*endpoint, "--agree", XDG_DATA_HOME=str(it.workspace.path))
    assert "cannot speak for you" in inside.stdout
    assert len(it.model.requests) == 2
