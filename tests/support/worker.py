"""Runs Python functions in child processes that may crash, hang or need their own environment.

A `Worker` is one child: it imports one module once and then answers calls (`module.function(**kwargs)`)
over two pipes, so that a thousand kernels cost one start.  A `WorkerPool` spreads a list of calls.
Both ends are this file.
"""

from __future__ import annotations

import importlib
import os
import pickle
import selectors
import struct
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import BinaryIO

HEADER = struct.Struct("<Q")
REPOSITORY = Path(__file__).resolve().parent.parent.parent


class WorkerDied(RuntimeError):
    """The child ended or exceeded its time; `reason` says which, `output` is the end of its stderr."""

    def __init__(self, reason: str, output: str) -> None:
        super().__init__(f"{reason}\n{output}" if output else reason)
        self.reason = reason
        self.output = output


class WorkerError(RuntimeError):
    """The called function raised something the child could not send as it was."""


def send(stream: BinaryIO, payload: bytes) -> None:
    """Writes one message."""
    stream.write(HEADER.pack(len(payload)) + payload)
    stream.flush()


def receive(stream: BinaryIO) -> bytes | None:
    """Reads one message; None at the end of the stream."""
    header = stream.read(HEADER.size)
    if len(header) < HEADER.size:
        return None
    (size,) = HEADER.unpack(header)
    body = stream.read(size)
    return body if len(body) == size else None


class Worker:
    """One child process, started at the first call and again after it died."""

    def __init__(
        self,
        module: str,
        environment: dict[str, str] | None = None,
        paths: Sequence[Path] = (),
    ) -> None:
        """`module` is importable from the repository's root; `paths` come before site-packages."""
        self.module = module
        self.environment = environment or {}
        self.paths = paths
        self.process: subprocess.Popen[bytes] | None = None
        self.stderr_tail = b""

    def start(self) -> subprocess.Popen[bytes]:
        """The running child."""
        if self.process is None or self.process.poll() is not None:
            own = [str(path) for path in (*self.paths, REPOSITORY)]
            inherited = os.environ.get("PYTHONPATH", "").split(os.pathsep)
            search = own + [path for path in inherited if path]
            environment = {
                **os.environ,
                **self.environment,
                "PYTHONPATH": os.pathsep.join(search),
                "PYTHONDONTWRITEBYTECODE": "1",
            }
            self.process = subprocess.Popen(
                [sys.executable, "-u", str(Path(__file__).resolve()), self.module],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=environment,
            )
            self.stderr_tail = b""
        return self.process

    def call(self, function: str, timeout: float = 120.0, **arguments: object) -> object:
        """`module.function(**arguments)` in the child; its exception is raised here."""
        process = self.start()
        assert process.stdin is not None
        try:
            send(process.stdin, pickle.dumps((function, arguments)))
        except BrokenPipeError:
            raise self.died("the child ended before the call") from None
        answer = self.wait(process, timeout)
        ok, value = pickle.loads(answer)
        if ok:
            return value
        if isinstance(value, BaseException):
            raise value
        raise WorkerError(value)

    def wait(self, process: subprocess.Popen[bytes], timeout: float) -> bytes:
        """The child's next message; keeps its stderr flowing meanwhile."""
        assert process.stdout is not None and process.stderr is not None
        deadline = time.monotonic() + timeout
        received = bytearray()
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            selector.register(process.stderr, selectors.EVENT_READ)
            while True:
                left = deadline - time.monotonic()
                if left <= 0:
                    self.close()
                    raise self.died(f"no answer within {timeout:g} s")
                for key, _ in selector.select(left):
                    chunk = os.read(key.fd, 1 << 16)
                    if key.fileobj is process.stderr:
                        self.stderr_tail = (self.stderr_tail + chunk)[-8192:]
                        if not chunk:
                            selector.unregister(process.stderr)
                        continue
                    if not chunk:
                        process.wait()
                        raise self.died(f"the child ended with status {process.returncode}")
                    received += chunk
                if len(received) >= HEADER.size:
                    (size,) = HEADER.unpack(received[: HEADER.size])
                    if len(received) >= HEADER.size + size:
                        return bytes(received[HEADER.size :])

    def died(self, reason: str) -> WorkerDied:
        """The error for a child that is gone, with what it last said."""
        if self.process is not None and self.process.stderr is not None:
            if self.process.poll() is not None:
                self.stderr_tail = (self.stderr_tail + self.process.stderr.read())[-8192:]
        self.process = None
        return WorkerDied(reason, self.stderr_tail.decode("utf-8", "replace").strip())

    def close(self) -> None:
        """Ends the child; a later call starts a new one."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


class WorkerPool:
    """A few workers of one kind; `map` keeps the order of its input."""

    def __init__(self, make: Callable[[], Worker], count: int | None = None) -> None:
        self.workers = [make() for _ in range(count or max(1, (os.cpu_count() or 2)))]

    def map(
        self, function: str, calls: Iterable[dict[str, object]], timeout: float = 120.0
    ) -> list[object]:
        """The result of each call, or the exception it raised, in order."""
        free: SimpleQueue[Worker] = SimpleQueue()
        for worker in self.workers:
            free.put(worker)

        def run(arguments: dict[str, object]) -> object:
            worker = free.get()
            try:
                return worker.call(function, timeout=timeout, **arguments)
            except Exception as error:
                return error
            finally:
                free.put(worker)

        with ThreadPoolExecutor(len(self.workers)) as threads:
            return list(threads.map(run, calls))

    def close(self) -> None:
        """Ends all children."""
        for worker in self.workers:
            worker.close()


def answer_call(module: object, request: bytes) -> bytes:
    """Carries out one request; exceptions travel as they are where they can be pickled."""
    function, arguments = pickle.loads(request)
    try:
        return pickle.dumps((True, getattr(module, function)(**arguments)))
    except Exception as error:
        try:
            payload = pickle.dumps((False, error))
            pickle.loads(payload)
            return payload
        except Exception:
            return pickle.dumps((False, traceback.format_exc()))


def serve() -> None:
    """The child: answers calls until its input ends.  Prints of kernels go to stderr."""
    incoming = os.fdopen(os.dup(0), "rb")
    outgoing = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    module = importlib.import_module(sys.argv[1])
    while (request := receive(incoming)) is not None:
        send(outgoing, answer_call(module, request))


if __name__ == "__main__":
    # The folder of this file must not shadow top-level names.
    sys.path[:] = [p for p in sys.path if Path(p or ".").resolve() != Path(__file__).parent]
    serve()
