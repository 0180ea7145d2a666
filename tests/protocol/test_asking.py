"""A model asked from the editor: offered where the user has agreed, proved before it is put in, cancelled."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.test_ask import KERNEL, KEY, RIGHT, WRONG
from tests.cli.test_ask_phases import FASTER, HEAD, LINES
from tests.cli.test_ask_phases import FILE as PHASES
from tests.cli.test_ask_regions import MARK as REGION_MARK
from tests.cli.test_ask_regions import OPEN as REGION_OPEN
from tests.cli.test_ask_regions import RIGHT as REGION_RIGHT
from tests.cli.test_ask_regions import STORE as REGION
from tests.cli.test_ask_regions import code
from tests.protocol.client import Client
from tests.protocol.conftest import KERNEL as PLAIN
from tests.protocol.test_gradients import CANCELLED, REQUEST_FAILED, command, titles
from tests.support.model_server import Model, Say

TITLE = "Ask a model for this derivative"
AT = {"line": KERNEL.splitlines().index("    return libdevice.lgamma(x)"), "character": 12}


class Desk:
    """A user's home, with his model set up, and a file."""

    def __init__(self, folder: Path) -> None:
        self.home, work = folder / "home", folder / "work"
        (self.home / ".config/tad-lsp").mkdir(parents=True)
        work.mkdir()
        self.file = work / "kernels.py"
        self.file.write_text("# not what the editor has\n")
        self.model = Model("openai", [Say(RIGHT)])
        self.config = self.home / ".config/tad-lsp/model.toml"
        self.config.write_text(f'endpoint = "{self.model.url}"\nmodel = "scripted"\n')

    @property
    def uri(self) -> str:
        return self.file.as_uri()

    def agree(self, scope: str = "") -> None:
        url = f"{self.model.url}/chat/completions{scope}"
        agreed = [{"workspace": str(self.file.parent), "url": url}]
        place = self.home / ".local/state/tad-lsp"
        place.mkdir(parents=True, exist_ok=True)
        (place / "agreed.json").write_text(json.dumps({"agreed": agreed}))

    def client(self, **options: object) -> Client:
        env = {
            "HOME": str(self.home),
            "XDG_CONFIG_HOME": "",
            "XDG_STATE_HOME": "",
            "TAD_MODEL_KEY": KEY,
        }
        client = Client(env=env)
        client.initialize(initializationOptions={"trusted": True, **options})
        client.open(self.uri, KERNEL)
        for _ in range(20):  # until it is known in the background, a pause after somebody asks
            if any("no backward" in title for title in titles(client, self.uri)):
                return client
            time.sleep(1)
        raise AssertionError(titles(client, self.uri))

    def actions(self, client: Client) -> list[dict]:
        params = {
            "textDocument": {"uri": self.uri},
            "range": {"start": AT, "end": AT},
            "context": {"diagnostics": []},
        }
        found = client.request("textDocument/codeAction", params) or []
        return [action for action in found if action["title"] == TITLE]


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    desk = Desk(tmp_path)
    yield desk
    desk.model.close()


def finish(client: Client) -> None:
    assert client.shut_down() == 0
    assert KEY.encode() not in client.stderr
    assert KEY not in json.dumps(
        [client.notifications, client.requests, list(client.answers.values())]
    )


def applied(text: str, edit: dict) -> str:
    (change,) = edit["documentChanges"]
    lines = text.splitlines(keepends=True)
    for one in reversed(change["edits"]):
        assert one["range"]["start"] == one["range"]["end"]
        lines.insert(one["range"]["start"]["line"], one["newText"])
    return "".join(lines)


def test_the_action_puts_in_what_is_proved(desk: Desk) -> None:
    desk.agree()
    client = desk.client()
    (action,) = desk.actions(client)
    params = {**action["command"], "workDoneToken": "mine"}
    params.pop("title")
    result = client.request("workspace/executeCommand", params)
    assert (result["kernel"], result["proved"], result["refused"]) == ("kernel", 1, 1)
    (edit,) = [r["params"] for r in client.requests if r["method"] == "workspace/applyEdit"]
    text = applied(KERNEL, edit["edit"])
    assert f"{RIGHT}\n@triton.jit\ndef log_gamma(x):" in text
    assert "# Proposed by a model (scripted), proved with `kernel`" in text
    kinds = [
        m["params"]["value"]["kind"] for m in client.notifications if m["method"] == "$/progress"
    ]
    assert (kinds[0], kinds[-1]) == ("begin", "end")
    client.change(desk.uri, 2, {"text": text})
    assert not desk.actions(client)
    assert len(desk.model.requests) == 1
    finish(client)


def test_effort_and_budget_are_settings(desk: Desk) -> None:
    desk.agree()
    desk.model.script = [Say(WRONG), Say(RIGHT)]
    client = desk.client()
    client.configuration = {"model": {"effort": "low", "maxTokens": 100}}
    client.notify("workspace/didChangeConfiguration", {"settings": None})
    client.settle()
    result = client.request("workspace/executeCommand", command("askModel", desk.uri, "kernel"))
    assert (result["proved"], len(desk.model.requests)) == (0, 1)
    assert "the budget of 100 tokens is spent" in result["report"]
    assert desk.model.requests[0][2]["reasoning_effort"] == "low"
    settings = {"name": "another", "temperature": "0.25", "maxSeconds": 10}
    desk.model.script = [Say(RIGHT, delay=60)]
    client.configuration = {"model": settings}
    client.notify("workspace/didChangeConfiguration", {"settings": None})
    client.settle()
    request = client.start("workspace/executeCommand", command("askModel", desk.uri, "kernel"))
    assert "there was no time left for the answer" in json.dumps(client.wait(request))
    body = desk.model.requests[-1][2]
    assert (body["model"], body["temperature"]) == ("another", 0.25)
    finish(client)


def test_nothing_is_offered_or_sent_without_consent(desk: Desk) -> None:
    client = desk.client()
    assert not desk.actions(client)
    error = client.wait(
        client.start("workspace/executeCommand", command("askModel", desk.uri, "kernel"))
    )["error"]
    assert error["code"] == REQUEST_FAILED and "you have not agreed" in error["message"]
    desk.agree()
    assert desk.actions(client)
    desk.config.unlink()
    assert not desk.actions(client)
    finish(client)
    desk.config.write_text(f'endpoint = "{desk.model.url}"\nmodel = "scripted"\n')
    for options in ({"trusted": False}, {"settings": {"model": {"enable": False}}}):
        client = desk.client(**options)
        if "settings" in options:
            client.configuration = options["settings"]
            client.notify("workspace/didChangeConfiguration", {"settings": None})
            client.settle()
        assert not desk.actions(client), options
        asked = client.start("workspace/executeCommand", command("askModel", desk.uri, "kernel"))
        assert client.wait(asked)["error"]["code"] == REQUEST_FAILED
        finish(client)
    assert desk.model.requests == []


def test_a_better_backward_is_put_in_the_place_of_the_old(desk: Desk) -> None:
    desk.model.script = [Say(FASTER), Say("That is all.")]
    desk.agree()
    client = desk.client()
    client.change(desk.uri, 2, {"text": PHASES})
    params = command("askModel", desk.uri, "scale_kernel", phases="faster")
    refused = client.wait(client.start("workspace/executeCommand", params))["error"]
    assert "you have not agreed that whole kernels of" in refused["message"]
    assert "`tad-lsp --ask --phase repair,faster,tidy" in refused["message"]
    line = PHASES[: PHASES.index("def scale_kernel_backward")].count("\n")
    at = {"line": line, "character": 6}
    asked = {
        "textDocument": {"uri": desk.uri},
        "range": {"start": at, "end": at},
        "context": {"diagnostics": []},
    }

    def offered() -> dict[str, dict]:
        actions = client.request("textDocument/codeAction", asked) or []
        return {action["title"]: action for action in actions if "Ask a model" in action["title"]}

    assert offered() == {}
    desk.agree(" with whole kernels")
    found = offered()
    assert sorted(found) == [
        "Ask a model for a faster backward",
        "Ask a model for a tidier backward",
    ]
    call = found["Ask a model for a faster backward"]["command"]
    call.pop("title")
    result = client.request("workspace/executeCommand", call)
    assert "The backward that scripted proposes is proved: faster: " in result["summary"]
    (edit,) = [r["params"] for r in client.requests if r["method"] == "workspace/applyEdit"]
    ((change,),) = [c["edits"] for c in edit["edit"]["documentChanges"]]
    lines = PHASES.splitlines(keepends=True)
    first, last = change["range"]["start"]["line"], change["range"]["end"]["line"]
    text = "".join([*lines[:first], change["newText"], *lines[last:]])
    mark, rest = text.split("# Proposed by a model (scripted), proved with `scale_kernel`")
    assert rest.split("\n", 1)[1].startswith(HEAD + LINES)
    assert mark + HEAD + LINES + text[text.index("\n\nclass Scale") :] == PHASES.replace(
        PHASES[PHASES.index(HEAD) : PHASES.index("\n\nclass Scale")], HEAD + LINES
    )
    finish(client)


def offered_at(client: Client, uri: str, text: str, word: str) -> dict[str, dict]:
    """The actions that ask a model, at a word of the text."""
    at = {"line": text[: text.index(word)].count("\n"), "character": 6}
    params = {
        "textDocument": {"uri": uri},
        "range": {"start": at, "end": at},
        "context": {"diagnostics": []},
    }
    found = client.request("textDocument/codeAction", params) or []
    return {each["title"]: each for each in found if "Ask a model" in each["title"]}


def test_gradients_that_are_not_proved_can_be_repaired(desk: Desk) -> None:
    """Offered at the forward and at its backward, once a check has found them wrong."""
    title = "Ask a model to make these gradients right"
    wrong = PHASES.replace("left + right", "left")
    desk.model.script = [Say(FASTER)]
    desk.agree(" with whole kernels")
    client = desk.client()
    client.change(desk.uri, 2, {"text": wrong})
    forward, backward = "def scale_kernel(", "def scale_kernel_backward("
    assert title not in offered_at(client, desk.uri, wrong, forward)
    checked = client.request(
        "workspace/executeCommand", command("checkGradients", desk.uri, "scale_kernel")
    )
    assert checked["status"] == "failed"
    assert title in offered_at(client, desk.uri, wrong, backward)
    call = offered_at(client, desk.uri, wrong, forward)[title]["command"]
    call.pop("title")
    result = client.request("workspace/executeCommand", call)
    assert "is proved: proved, worst error" in result["summary"], result
    (edit,) = [r["params"] for r in client.requests if r["method"] == "workspace/applyEdit"]
    ((change,),) = [c["edits"] for c in edit["edit"]["documentChanges"]]
    assert HEAD + LINES in change["newText"]
    finish(client)


SHARED = PHASES[: PHASES.index("@triton.jit")] + """@triton.jit
def pick_kernel(x_ptr, index_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    at = tl.load(index_ptr + i, mask=i < n, other=0)
    tl.store(y_ptr + i, tl.load(x_ptr + at, mask=i < n, other=0.0), mask=i < n)


@triton.jit
def plain_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + i, tl.load(x_ptr + i, mask=i < n, other=0.0), mask=i < n)
"""


def test_a_slow_schedule_can_be_asked_about(desk: Desk) -> None:
    """Where the derived backward adds up with atomics, a faster one is offered at the forward."""
    title = "Ask a model for a faster backward"
    desk.agree(" with whole kernels")
    client = desk.client()
    client.change(desk.uri, 2, {"text": SHARED})
    for _ in range(40):  # until it was derived in the background
        found = offered_at(client, desk.uri, SHARED, "def pick_kernel(")
        if title in found:
            break
        time.sleep(0.5)
    assert found[title]["command"]["arguments"][0]["phases"] == "faster"
    assert offered_at(client, desk.uri, SHARED, "def plain_kernel(") == {}
    finish(client)


def test_refused_lines_are_written_anew_where_whole_kernels_may_be_sent(desk: Desk) -> None:
    desk.model.script = [Say(code(REGION_RIGHT))]
    desk.agree()
    client = desk.client()
    client.change(desk.uri, 2, {"text": REGION})
    asked = command("askModel", desk.uri, "square_kernel")
    result = client.request("workspace/executeCommand", asked)
    assert "you have not agreed that whole kernels of" in result["summary"]
    assert (desk.model.requests, "edits" in result) == ([], False)
    agreed = json.loads((desk.home / ".local/state/tad-lsp/agreed.json").read_text())
    (entry,) = agreed["agreed"]
    agreed["agreed"].append({**entry, "url": f"{entry['url']} with whole kernels"})
    (desk.home / ".local/state/tad-lsp/agreed.json").write_text(json.dumps(agreed))
    result = client.request("workspace/executeCommand", asked)
    assert (result["proved"], result["refused"]) == (1, 1), result
    assert "compute what stood there, and the gradients are proved" in result["summary"]
    (edit,) = [r["params"] for r in client.requests if r["method"] == "workspace/applyEdit"]
    ((change,),) = [c["edits"] for c in edit["edit"]["documentChanges"]]
    lines = REGION.splitlines(keepends=True)
    first, last = change["range"]["start"]["line"], change["range"]["end"]["line"]
    text = "".join([*lines[:first], change["newText"], *lines[last:]])
    assert text == REGION.replace(REGION_OPEN, REGION_MARK + REGION_RIGHT)
    finish(client)


def test_no_proof_no_edit(desk: Desk) -> None:
    desk.agree()
    desk.model.script = [Say(WRONG)]
    client = desk.client()
    result = client.request("workspace/executeCommand", command("askModel", desk.uri, "kernel"))
    assert result["proved"] == 0 and "edits" not in result
    assert "No derivative from scripted: the gradient of x_ptr is wrong" in result["summary"]
    assert not [r for r in client.requests if r["method"] == "workspace/applyEdit"]
    said = [
        m["params"]["message"] for m in client.notifications if m["method"] == "window/showMessage"
    ]
    assert said == [result["summary"]]
    finish(client)


def test_cancelled(desk: Desk) -> None:
    desk.agree()
    desk.model.script = [Say(RIGHT, delay=30)]
    client = desk.client()
    number = client.start("workspace/executeCommand", command("askModel", desk.uri, "kernel"))
    for _ in range(200):
        if desk.model.requests:
            break
        time.sleep(0.05)
    client.notify("$/cancelRequest", {"id": number})
    assert client.wait(number, 10)["error"]["code"] == CANCELLED
    finish(client)


def wait_for_message(client: Client, method: str, words: str) -> str:
    for _ in range(60):
        client.settle()
        for message in client.notifications:
            if message["method"] == method and words in message["params"]["message"]:
                return message["params"]["message"]
        time.sleep(0.5)
    raise AssertionError(client.notifications)


@pytest.mark.parametrize("has_gain", [True, False])
def test_cancelled_after_an_answer(desk: Desk, has_gain: bool) -> None:
    """What was found by then is told, and what is proved put in."""
    desk.model.script = [Say(FASTER if has_gain else "No."), Say("Late.", delay=60)]
    desk.agree(" with whole kernels")
    client = desk.client()
    client.change(desk.uri, 2, {"text": PHASES})
    asked = command("askModel", desk.uri, "scale_kernel", phases="faster")
    number = client.start("workspace/executeCommand", asked)
    for _ in range(400):
        if len(desk.model.requests) == 2:
            break
        time.sleep(0.05)
    client.notify("$/cancelRequest", {"id": number})
    assert client.wait(number, 10)["error"]["code"] == CANCELLED  # nobody waits for the rest
    said = wait_for_message(client, "window/showMessage", "Cancelled. ")
    report = wait_for_message(client, "window/logMessage", "stopped: cancelled")
    edits = [r["params"] for r in client.requests if r["method"] == "workspace/applyEdit"]
    assert len(edits) == has_gain
    if has_gain:
        assert "The backward that scripted proposes is proved: faster: " in said
        assert "answer 1 kept, faster: " in report
        ((change,),) = [c["edits"] for c in edits[0]["edit"]["documentChanges"]]
        assert LINES in change["newText"]
    finish(client)


def test_an_edit_meanwhile_wins(desk: Desk) -> None:
    desk.agree()
    desk.model.script = [Say(RIGHT, delay=2)]
    client = desk.client()
    number = client.start("workspace/executeCommand", command("askModel", desk.uri, "kernel"))
    client.change(desk.uri, 2, {"text": PLAIN})
    assert "the text has changed since" in client.wait(number, 30)["error"]["message"]
    assert not [r for r in client.requests if r["method"] == "workspace/applyEdit"]
    finish(client)
