"""A model that does as it is told: an HTTP server on this machine with both formats, from a script."""

from __future__ import annotations

import json
import ssl
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Say:
    """One answer. `status` other than 200 has `text` as its complaint."""

    text: str = ""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0  # before the first byte
    cut: bool = False  # the connection ends in the middle of the stream
    streams: bool = True
    bytes: int = 0  # so much more, of nothing
    fails: str = ""  # in the middle of the stream comes this, and nothing after it


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        pass

    def do_POST(self) -> None:
        model: Model = self.server.model
        body = self.rfile.read(int(self.headers["Content-Length"]))
        with model.lock:
            model.requests.append((self.path, dict(self.headers), json.loads(body)))
            model.bodies.append(body.decode())
            model.times.append(time.monotonic())
            say = model.script[min(len(model.requests), len(model.script)) - 1]
            if model.answer:
                say = model.answer(json.loads(body))
        time.sleep(say.delay)
        if say.status == 200 and "input" in model.requests[-1][2]:
            self.whole(model.embeddings(self.path, json.loads(body)["input"]), say)
        elif say.status != 200:
            self.whole({"error": {"message": say.text}}, say)
        elif model.raw:
            self.send(model.raw.encode(), say)
        elif not say.streams:
            self.whole(model.whole(say.text), say)
        else:
            self.stream(model, say)

    def whole(self, value: dict, say: Say) -> None:
        self.send(json.dumps(value).encode(), say)

    def send(self, data: bytes, say: Say) -> None:
        self.send_response(say.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        for name, text in say.headers.items():
            self.send_header(name, text)
        self.end_headers()
        self.wfile.write(data)

    def stream(self, model: Model, say: Say) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        events = model.events(say.text)
        try:
            half = [*events[: len(events) // 2], *([say.fails] if say.fails else [])]
            for event in half if say.cut or say.fails else events:
                self.wfile.write(event.encode())
                self.wfile.flush()
            for _ in range(say.bytes // 65536):
                self.wfile.write(b"data: " + b" " * 65529 + b"\n")
        except (BrokenPipeError, ConnectionResetError):
            pass
        self.close_connection = True


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: object) -> None:  # who does not trust us goes away
        pass


class Model:
    """`script`: the answers in their order; the last one again and again. `tls`: what is spoken first."""

    def __init__(self, api: str, script: list[Say], tls: ssl.SSLContext | None = None) -> None:
        self.api, self.script = api, script
        self.vector: Callable[[str], list] = lambda text: [1.0, float("tl.exp(" in text)]
        self.requests: list[tuple[str, dict, dict]] = []
        self.answer: Callable[[dict], Say] | None = None  # in the place of the script
        self.raw = ""  # the body of each answer, in the place of all else
        self.bodies: list[str] = []
        self.times: list[float] = []
        self.lock = threading.Lock()
        self.scheme = "https" if tls else "http"
        self.server = Server(("127.0.0.1", 0), Handler)
        if tls:  # the hand is shaken by the thread of the connection
            self.server.socket = tls.wrap_socket(
                self.server.socket, server_side=True, do_handshake_on_connect=False
            )
        self.server.model = self
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.server.server_port}/v1"

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()

    def embeddings(self, path: str, texts: list[str]) -> dict:
        """The texts' vectors; in the order of OpenAI's, which is any."""
        vectors = [self.vector(text) for text in texts]
        if path.endswith("/embed"):
            return {"embeddings": vectors, "prompt_eval_count": 7 * len(texts)}
        data = [{"index": i, "embedding": vector} for i, vector in enumerate(vectors)]
        return {"data": data[::-1], "usage": {"prompt_tokens": 7 * len(texts)}}

    def whole(self, text: str) -> dict:
        if self.api == "anthropic":
            return {
                "type": "message",
                "content": [{"type": "text", "text": text}],
                "stop_reason": "end_turn",
                "usage": {"input_tokens": 100, "output_tokens": 20},
            }
        return {
            "choices": [{"message": {"content": text}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 100, "completion_tokens": 20},
        }

    def events(self, text: str) -> list[str]:
        pieces = [text[i : i + 7] for i in range(0, len(text), 7)]
        if self.api == "anthropic":
            values = [
                {
                    "type": "message_start",
                    "message": {"usage": {"input_tokens": 100, "output_tokens": 1}},
                },
                {"type": "ping"},
                *(
                    {"type": "content_block_delta", "delta": {"type": "text_delta", "text": p}}
                    for p in pieces
                ),
                {
                    "type": "message_delta",
                    "delta": {"stop_reason": "end_turn"},
                    "usage": {"output_tokens": 20},
                },
                {"type": "message_stop"},
            ]
            return [f"event: {v['type']}\ndata: {json.dumps(v)}\n\n" for v in values]
        values = [
            *({"choices": [{"delta": {"content": p}, "finish_reason": None}]} for p in pieces),
            {"choices": [{"delta": {}, "finish_reason": "stop"}]},
            {"choices": [], "usage": {"prompt_tokens": 100, "completion_tokens": 20}},
        ]
        return [
            ": a comment\n\n",
            *(f"data: {json.dumps(v)}\n\n" for v in values),
            "data: [DONE]\n\n",
        ]
