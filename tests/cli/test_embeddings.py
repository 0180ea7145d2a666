"""Embeddings of indexed kernels from an endpoint: agreed to first, asked once a text; nothing stops without them."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import Result, Workspace
from tests.cli.test_index import FUNCTION, HEADER, LAUNCH, PACKAGE, scale, softmax
from tests.support.model_server import Model, Say

KEY = "sk-embedding-0123456789"
MINE = HEADER + scale("mine").replace("* 2.0", "* 3.0 + 1.0")


class Desk:
    """A home whose model.toml names an endpoint for embeddings, a package of two forwards, and a file of one's own."""

    def __init__(self, folder: Path, api: str, *script: Say) -> None:
        self.model = Model(api, list(script) or [Say()])
        self.workspace = Workspace(folder / "work")
        self.home = folder / "home"
        self.workspace.path.mkdir()
        (self.home / ".config/tad-lsp").mkdir(parents=True)
        self.workspace.write({**PACKAGE, "pyproject.toml": "", "mine.py": MINE})
        other = LAUNCH.replace("soft_", "flat_").replace(".kernels", ".flat")
        self.workspace.write(
            {
                "pack/flat.py": HEADER + scale("flat_fwd") + softmax("flat_bwd"),
                "pack/run_flat.py": other,
                "pack/flat_function.py": FUNCTION.replace(".launch", ".run_flat"),
            }
        )
        path = "/api" if api == "ollama" else "/v1"
        self.settings(f"{self.model.url.removesuffix('/v1')}{path}", f'embedding-api = "{api}"')

    def settings(self, endpoint: str, *lines: str) -> None:
        text = "\n".join(
            [f'embedding-endpoint = "{endpoint}"', 'embedding-model = "scripted"', *lines]
        )
        (self.home / ".config/tad-lsp/model.toml").write_text(text)

    def tad(self, *arguments: str, key: str = KEY) -> Result:
        env = {"HOME": str(self.home), "TAD_EMBEDDING_KEY": key}
        for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME"):
            env[name] = ""
        result = self.workspace.tad(*arguments, env=env)
        assert KEY not in result.stdout + result.stderr
        for file in self.home.rglob("*"):
            assert not file.is_file() or KEY.encode() not in file.read_bytes(), file
        return result

    def texts(self) -> list[list[str]]:
        """What was asked, request by request: the kernels' names."""
        return [
            [text.split("def ")[1].split("(")[0] for text in body["input"]]
            for _, _, body in self.model.requests
        ]

    def similar(self, *options: str) -> list[tuple[str, float]]:
        run = self.tad("--similar", "mine.py", "--min-sim", "0", "--json", *options)
        (kernel,) = run.json["kernels"]
        return [(near["name"], near["similarity"]) for near in kernel["similar"]]


@pytest.fixture
def desks(tmp_path: Path) -> Iterator:
    made = []

    def make(api: str = "openai", *script: Say) -> Desk:
        made.append(Desk(tmp_path, api, *script))
        return made[-1]

    yield make
    for desk in made:
        desk.model.close()


@pytest.mark.parametrize("api", ["openai", "ollama"])
def test_each_text_is_asked_once(desks, api: str) -> None:
    desk = desks(api)
    told = desk.tad("--index", "pack", "--agree")
    assert told.status == 0, told.stderr
    assert "2 kernels embedded by scripted, 14 tokens" in told.stderr
    ((path, headers, body),) = desk.model.requests
    assert path == ("/api/embed" if api == "ollama" else "/v1/embeddings")
    assert headers["Authorization"] == f"Bearer {KEY}"
    assert body["model"] == "scripted"
    assert sorted(desk.texts()[0]) == ["flat_fwd", "soft_fwd"]  # not their backwards
    assert desk.model.bodies[0] in told.stdout  # what was shown is what was sent
    assert "embedded" not in desk.tad("--index").stderr
    assert len(desk.model.requests) == 1
    # One text has changed; the other only stands elsewhere.
    file = desk.workspace.path / "pack/kernels.py"
    file.write_text("\n\n" + file.read_text().replace("tl.max(x, axis=0)", "tl.max(x, 0)"))
    flat = desk.workspace.path / "pack/flat.py"
    flat.write_text("# moved\n" + flat.read_text())
    told = desk.tad("--index")
    assert "1 kernel embedded by scripted, 7 tokens" in told.stderr
    assert desk.texts()[1:] == [["soft_fwd"]]
    with sqlite3.connect(desk.home / ".local/share/tad-lsp/index.sqlite") as index:
        assert index.execute("SELECT COUNT(*) FROM vectors").fetchall() == [(2,)]


def test_they_are_blended_by_their_weight(desks) -> None:
    desk = desks()
    desk.tad("--index", "pack")  # structure and words alone
    plain = desk.similar()
    assert [name for name, _ in plain] == ["flat_fwd", "soft_fwd"]
    # The model finds `mine` close to what has an exponential in it, against structure and words.
    desk.model.vector = lambda text: [1.0, float("tl.exp(" in text or "mine" in text)]
    desk.tad("--index", "--agree")
    near = desk.similar()
    assert dict(near)["soft_fwd"] > dict(plain)["soft_fwd"] + 0.1
    assert dict(near)["flat_fwd"] <= dict(plain)["flat_fwd"]
    assert desk.texts()[-1] == ["mine"]
    desk.settings(desk.model.url, "embedding-weight = 0.0")
    assert dict(desk.similar()) == pytest.approx(dict(plain))
    desk.settings(desk.model.url, "embedding-weight = 0.1")
    assert 0 < dict(desk.similar())["soft_fwd"] < dict(near)["soft_fwd"]


def test_nothing_is_sent_before_the_user_agrees(desks) -> None:
    desk = desks()
    told = desk.tad("--index", "pack")
    assert told.status == 0
    assert "nothing was sent. --agree sends the above to" in told.stderr
    assert "with kernels for their embeddings" in told.stderr
    assert "def soft_fwd" in json.loads(told.stdout.split("\n\n")[1])["input"][1]
    assert "(the value of $TAD_EMBEDDING_KEY)" in told.stdout
    told = desk.tad("--similar", "mine.py")
    assert "no embedding was asked for: you have not agreed" in told.stderr
    assert "similar kernels are told by structure and words alone" in told.stderr
    assert "flat_fwd" in told.stdout
    assert desk.model.requests == []
    # An answer of the workspace for derivatives is none for kernels.
    desk.tad("--similar", "mine.py", "--agree")
    assert desk.texts() == [["mine"]]
    desk.tad("--index")
    assert len(desk.model.requests) == 2


FAILURES = {
    "key": (Say("no such key " + KEY, status=401), "the server answers 401 (the key)"),
    "name": (Say("who?", status=404), "(the endpoint, or the model's name)"),
    "few": (None, "the answer has not 2 embeddings"),
    "odd": (None, "holds something that is no embedding"),
    "sizes": (None, "have two sizes"),
}


@pytest.mark.parametrize("what", FAILURES)
def test_without_embeddings_structure_and_words_tell(desks, what: str) -> None:
    say, words = FAILURES[what]
    desk = desks("ollama", *([say] if say else []))
    sizes = iter([1, 2, 3, 4])
    vectors = {"odd": lambda _: ["x", 1.0], "sizes": lambda _: [1.0] * next(sizes)}
    if what == "few":
        desk.model.embeddings = lambda *_: {"embeddings": [[1.0]]}
    desk.model.vector = vectors.get(what, desk.model.vector)
    told = desk.tad("--index", "pack", "--agree")
    assert told.status == 0
    assert words in told.stderr
    assert told.stderr.count("similar kernels are told by structure and words alone") == 1
    assert desk.similar()[0][0] == "flat_fwd"


def test_without_a_network_it_is_said_once(desks) -> None:
    desk = desks()
    desk.tad("--index", "pack", "--agree")
    desk.model.close()
    told = desk.tad("--similar", "mine.py")
    assert told.status == 0
    assert told.stderr.count("structure and words alone") == 1
    assert "flat_fwd" in told.stdout
    # What is in the index needs none.
    assert desk.tad("--similar", "pack/flat.py:flat_fwd").stderr == ""


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (['embedding-endpoint = "http://far.example/v1"'], "`embedding-endpoint` needs"),
        (
            ['embedding-endpoint = "http://far.example/v1"', 'embedding-model = "m"'],
            "holds a key, which is sent to other machines by https alone",
        ),
        (
            [
                'embedding-endpoint = "http://127.0.0.1:9/v1"',
                'embedding-model = "m"',
                "embedding-weight = 2",
            ],
            "`embedding-weight` is at most 1",
        ),
        (
            [
                'embedding-endpoint = "http://127.0.0.1:9/v1"',
                'embedding-model = "m"',
                'embedding-api = "x"',
            ],
            "`embedding-api` is openai or ollama",
        ),
    ],
)
def test_settings_that_cannot_be_used_are_said(desks, lines: list[str], words: str) -> None:
    desk = desks()
    (desk.home / ".config/tad-lsp/model.toml").write_text("\n".join(lines))
    told = desk.tad("--index", "pack", "--agree")
    assert told.status == 0
    assert f"no embeddings: {words}" in told.stderr or words in told.stderr
    assert desk.model.requests == []
