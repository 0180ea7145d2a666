"""`--ask` over a network: TLS with certificates made here, tunnels of proxies, servers that are to be asked later."""

from __future__ import annotations

import email.utils
import json
import select
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.test_ask import KERNEL, KEY, RIGHT, Asking, asking
from tests.support.model_server import Model, Say

__all__ = ["asking"]

FAR = "models.example.invalid"


def openssl(folder: Path, *arguments: str) -> None:
    subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)


def make_certificate(folder: Path, name: str, hosts: str, *more: str) -> None:
    """`NAME.pem` with `NAME.key`, signed by the authority of the folder."""
    (folder / f"{name}.ext").write_text(f"subjectAltName = {hosts}\n")
    openssl(
        folder, "req", "-newkey", "rsa:2048", "-nodes", "-subj", f"/CN={name}",
        "-keyout", f"{name}.key", "-out", f"{name}.csr",
    )  # fmt: skip
    openssl(
        folder, "x509", "-req", "-in", f"{name}.csr", "-CA", "authority.pem", "-CAkey", "authority.key",
        "-CAcreateserial", "-extfile", f"{name}.ext", "-out", f"{name}.pem", *(more or ("-days", "2")),
    )  # fmt: skip


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("certificates")
    openssl(
        folder, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=tests",
        "-keyout", "authority.key", "-out", "authority.pem",
    )  # fmt: skip
    make_certificate(folder, "here", f"IP:127.0.0.1,DNS:{FAR}")
    make_certificate(folder, "elsewhere", "DNS:elsewhere.invalid")
    make_certificate(folder, "over", "IP:127.0.0.1", "-days", "0")
    return folder


@pytest.fixture
def secure(tmp_path: Path, certificates: Path, asking) -> Iterator:
    """As `asking`, with a server that has this certificate."""
    made = []

    def make(name: str, *lines: str, endpoint: str = "") -> Asking:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificates / f"{name}.pem", certificates / f"{name}.key")
        one = asking(RIGHT)
        one.model.close()
        one.model = Model("openai", [Say(RIGHT)], tls=context)
        config = one.home / ".config/tad-lsp/model.toml"
        config.parent.mkdir(parents=True)
        settings = [f'endpoint = "{endpoint or one.model.url}"', 'model = "m"', *lines]
        config.write_text("\n".join(settings))
        made.append(one)
        return one

    yield make
    for one in made:
        one.model.close()


NO_ENVIRONMENT = {"CURL_CA_BUNDLE": "", "SSL_CERT_FILE": "", "https_proxy": "", "ALL_PROXY": ""}


def test_a_server_whose_authority_is_named(secure, certificates: Path) -> None:
    authority = certificates / "authority.pem"
    one = secure("here", f'ca-file = "{authority}"')
    assert one.ask("--agree", **NO_ENVIRONMENT).status == 0
    ((path, headers, _),) = one.model.requests
    assert (path, headers["Authorization"]) == ("/v1/chat/completions", f"Bearer {KEY}")
    for variable in ("CURL_CA_BUNDLE", "SSL_CERT_FILE"):
        one = secure("here")
        result = one.ask("--agree", **{**NO_ENVIRONMENT, variable: str(authority)})
        assert (result.status, len(one.model.requests)) == (0, 1), result.stdout


@pytest.mark.parametrize("case", ["unknown", "elsewhere", "over"])
def test_a_wrong_certificate_gives_one_message(secure, certificates: Path, case: str) -> None:
    """Of an authority that nobody named, of another host, of another time."""
    authority = f'ca-file = "{certificates / "authority.pem"}"'
    one = secure("here") if case == "unknown" else secure(case, authority)
    began = time.monotonic()
    result = one.ask("--agree", "--write", **NO_ENVIRONMENT)
    assert result.status == 2
    assert one.model.requests == [] and one.file.read_text() == KERNEL
    (said,) = [line for line in result.stdout.splitlines() if "certificate" in line]
    assert "nothing was sent: the certificate of 127.0.0.1 is not one to trust (" in said
    trusted = "the system;" if case == "unknown" else "authority.pem;"
    assert trusted in said and "`ca-file` in model.toml names others" in said
    assert time.monotonic() - began < 20  # it is not tried again


def test_a_file_that_holds_no_certificates_is_named(secure, certificates: Path) -> None:
    for file in (certificates / "nowhere.pem", certificates / "here.key"):
        one = secure("here", f'ca-file = "{file}"')
        result = one.ask("--agree", **NO_ENVIRONMENT)
        assert (result.status, one.model.requests) == (2, [])
        assert str(file) in result.stdout


class Tunnel:
    """A proxy that leads every CONNECT to one port of this machine, and keeps what it was told."""

    def __init__(self, port: int) -> None:
        self.port, self.heads = port, []
        self.listener = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self.serve, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.listener.getsockname()[1]}"

    def serve(self) -> None:
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.lead, args=(client,), daemon=True).start()

    def lead(self, client: socket.socket) -> None:
        head = b""
        while b"\r\n\r\n" not in head:
            if not (piece := client.recv(4096)):
                return
            head += piece
        self.heads.append(head.decode())
        server = socket.create_connection(("127.0.0.1", self.port))
        client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
        ends = {client: server, server: client}
        try:
            while True:
                for end in select.select(list(ends), [], [])[0]:
                    if not (piece := end.recv(65536)):
                        return
                    ends[end].sendall(piece)
        except OSError:
            pass
        finally:
            client.close()
            server.close()


@pytest.mark.parametrize("said_by", ["file", "environment"])
def test_a_proxy_leads_to_the_server_and_sees_no_key(
    secure, certificates: Path, said_by: str
) -> None:
    one = secure("here", endpoint=f"https://{FAR}/v1")
    tunnel = Tunnel(one.model.server.server_port)
    config = one.home / ".config/tad-lsp/model.toml"
    lines = [f'\nca-file = "{certificates / "authority.pem"}"']
    if said_by == "file":
        lines.append(f'proxy = "{tunnel.url}"')
    config.write_text(config.read_text() + "\n".join(lines))
    there = tunnel.url if said_by == "environment" else "http://127.0.0.1:1"
    result = one.ask("--agree", **{**NO_ENVIRONMENT, "https_proxy": there})
    tunnel.listener.close()
    assert result.status == 0, result.stdout
    (head,) = tunnel.heads
    assert head.startswith(f"CONNECT {FAR}:443 HTTP/1.1\r\n")
    assert "uthorization" not in head and KEY not in head
    assert one.model.requests[0][1]["Authorization"] == f"Bearer {KEY}"


def date(seconds: float) -> str:
    return email.utils.formatdate(time.time() + seconds, usegmt=True)


@pytest.mark.parametrize("form", ["seconds", "date", "date of another clock"])
def test_it_waits_as_long_as_the_server_says(asking, form: str) -> None:
    if form == "seconds":
        headers = {"Retry-After": "3"}
    elif form == "date":
        headers = {"Retry-After": date(4), "Date": date(0)}
    else:  # an hour late: what counts is the difference
        headers = {"Retry-After": date(-3597), "Date": date(-3600)}
    one = asking(Say("busy", status=503, headers=headers), RIGHT)
    began = time.monotonic()
    result = one.sent()
    assert (result.status, len(one.model.requests)) == (0, 2), result.stdout
    assert 2.9 < one.model.times[1] - one.model.times[0] < 6, time.monotonic() - began


@pytest.mark.parametrize(
    ("wish", "tries"),
    [
        ("601", 1),  # longer than anybody waits
        ("299", 1),  # no time left after the checks before it
        ("99999999999999999999", 4),  # no number of seconds
        ("soon", 4),
        ("-5", 4),
        ("0", 4),
        ("Sun, 06 Nov 1994 08:49:37 GMT", 4),  # long ago
        ("Fri, 31 Dec 2100 23:59:59 GMT", 1),
    ],
)
def test_what_cannot_be_waited_for(asking, wish: str, tries: int) -> None:
    one = asking(Say("busy", status=429, headers={"Retry-After": wish}))
    config = one.home / ".config/tad-lsp/model.toml"
    config.parent.mkdir(parents=True)
    config.write_text(f"max-seconds = {120 if wish == '299' else 2000}\n")
    began = time.monotonic()
    result = one.sent()
    assert (result.status, len(one.model.requests)) == (2, tries), result.stdout
    assert "429 (too many requests): busy" in result.stdout
    assert ("it asks to wait " in result.stdout) == (tries == 1)
    assert time.monotonic() - began < 30


def event(value: dict, name: str = "") -> str:
    return (f"event: {name}\n" if name else "") + f"data: {json.dumps(value)}\n\n"


FAILURES = {
    "anthropic": (
        "anthropic",
        event(
            {"type": "error", "error": {"type": "invalid_request_error", "message": "Bad luck"}},
            "error",
        ),
        1,
    ),
    "anthropic, overloaded": (
        "anthropic",
        event(
            {"type": "error", "error": {"type": "overloaded_error", "message": "Bad luck"}}, "error"
        ),
        4,
    ),
    "openai": (
        "openai",
        event({"error": {"message": "Bad luck", "type": "invalid_request_error", "code": None}}),
        1,
    ),
    "openai, its own fault": (
        "openai",
        event({"error": {"message": "Bad luck", "type": "server_error", "code": None}}),
        4,
    ),
    "openai, a status": (
        "openai",
        event({"error": {"code": 502, "message": "Bad luck"}, "choices": []}),
        4,
    ),
    "openai, an event": ("openai", event({"code": 400, "message": "Bad luck"}, "error"), 1),
    "openai, an object": (
        "openai",
        event({"object": "error", "message": "Bad luck", "code": 400}),
        1,
    ),
    "openai, a text": ("openai", event({"error": "Bad luck"}), 1),
    "openai, a line": ("openai", 'error: {"code": 400, "message": "Bad luck"}\n\n', 1),
    "openai, no JSON": ("openai", "event: error\ndata: Bad luck\n\n", 1),
}


@pytest.mark.parametrize("case", FAILURES)
def test_an_error_in_the_middle_of_an_answer_is_told(asking, case: str) -> None:
    """In the server's own words, and tried again only where it says that this may help."""
    api, text, tries = FAILURES[case]
    failing = text.replace("Bad luck", f"Bad luck with {KEY}")
    one = asking(Say(RIGHT, fails=failing), api=api)
    result = one.sent("--write")
    assert result.status == 2, result.stdout
    assert (
        "stopped: the server ended its answer with an error: Bad luck with (key)\n" in result.stdout
    )
    assert len(one.model.requests) == tries
    assert one.file.read_text() == KERNEL
    if tries > 1:
        one = asking(Say(RIGHT, fails=failing), RIGHT, api=api)
        assert (one.sent().status, len(one.model.requests)) == (0, 2)


def test_an_error_without_words_is_one(asking) -> None:
    one = asking(Say(RIGHT, fails=event({"error": {}})))
    assert "ended its answer with an error: it gives no reason" in one.sent().stdout
    one = asking(Say(RIGHT, fails=event({"error": {"message": "x" * 5000}})))
    assert f"with an error: {'x' * 300}\n" in one.sent().stdout


def test_the_word_error_in_an_answer_is_none(asking) -> None:
    """A field that says nothing, and the model's own text."""
    one = asking(f"error: none\n\n{RIGHT}")
    events = one.model.events
    one.model.events = lambda text: [
        event({"choices": [{"delta": {"content": ""}}], "error": None}),
        *events(text),
    ]
    assert one.sent().status == 0


def whole(content: object, **message: object) -> str:
    return json.dumps({"choices": [{"message": {"content": content, **message}}]})


NO_ANSWERS = {
    "a page": ("<html>\n<body>Log in</body></html>", "it begins `<html>`"),
    "another format": ('{"message": {"content": "x"}, "done": true}', "it begins `{"),
    "no choices": ('{"choices": []}', "it begins `{"),
    "a list": ("[1, 2]", "it begins `[1, 2]`"),
}


@pytest.mark.parametrize("case", NO_ANSWERS)
def test_what_is_no_answer_is_told_and_not_asked_again(asking, case: str) -> None:
    text, says = NO_ANSWERS[case]
    one = asking(RIGHT)
    one.model.raw = text
    result = one.sent()
    assert result.status == 2, result.stdout
    assert "stopped: what the server sent is no answer in the format that `api` names (openai)" in (
        result.stdout
    )
    assert says in result.stdout
    assert len(one.model.requests) == 1


BODIES = {
    "no finish_reason": whole(RIGHT),
    "parts": whole([{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": RIGHT}]),
    "a mark in front": "\ufeff" + "".join(Model("openai", []).events(RIGHT)[1:]),
}


@pytest.mark.parametrize("case", BODIES)
def test_answers_of_unusual_form_are_read(asking, case: str) -> None:
    one = asking(RIGHT)
    one.model.raw = BODIES[case]
    assert one.sent().status == 0
    assert len(one.model.requests) == 1


def test_an_answer_that_was_cut_off_is_said_to_be(asking) -> None:
    one = asking(RIGHT)
    one.model.raw = json.dumps(
        {"choices": [{"message": {"content": RIGHT[:45]}, "finish_reason": "length"}]}
    )
    assert "cannot be used: The answer was cut off: " in one.sent().stdout


def test_a_piece_of_the_key_is_taken_out_of_what_a_server_says(asking) -> None:
    one = asking(Say(f"no such key {KEY[:-4]}****, {KEY[4:]}", status=401))
    result = one.sent()
    assert "no such key (key)****, (key)\n" in result.stdout
    assert KEY[:-4] not in result.stdout
