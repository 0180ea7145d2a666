"""Each test has a server of its own; at the end it must shut down cleanly."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.protocol.client import Client

KERNEL = """import triton
import triton.language as tl


@triton.jit
def scale(x):
    return x * 3.0


@triton.jit
def scale_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0)
    y = scale(x)
    tl.store(y_ptr + offsets, y, mask=mask)


def launch(x, y):
    n = x.numel()
    scale_kernel[(triton.cdiv(n, 128),)](x, y, n, BLOCK=128)
"""


@pytest.fixture
def server() -> Iterator[Client]:
    """Not initialized yet."""
    client = Client()
    yield client
    if client.process.poll() is None:
        client.kill()


@pytest.fixture
def editor(server: Client) -> Iterator[Client]:
    """Initialized; must end with status 0 and nothing on stderr."""
    server.initialize()
    yield server
    if server.process.poll() is None:
        assert server.shut_down() == 0
        assert server.stderr == b""


@pytest.fixture
def kernel(tmp_path: Path) -> str:
    """The URI of a file on disk that holds KERNEL."""
    file = tmp_path / "scale.py"
    file.write_text(KERNEL)
    return file.as_uri()
