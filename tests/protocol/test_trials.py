"""What only numbers tell of a launch is published when somebody stops typing: a key costs no more for it."""

from __future__ import annotations

from tests.protocol.client import Client, edit

KERNEL = """import torch
import triton
import triton.language as tl


@triton.jit
def {name}(x_ptr, y_ptr, stride, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * stride + cols, mask=cols < n_cols, other=0.0)
    tl.store(y_ptr + row + cols, x * 2.0, mask=cols < n_cols)


def launch_{name}(x):
    y = torch.empty_like(x)
    n_rows, n_cols = x.shape
    block = triton.next_power_of_2(n_cols)
    {name}[(n_rows,)](x, y, x.stride(0), n_cols, BLOCK=block)
    return y


"""


def codes(client: Client, uri: str, version: int) -> list[str]:
    return sorted(found["code"] for found in client.diagnostics(uri, version))


def wait_for(client: Client, uri: str, version: int, wanted: list[str]) -> None:
    while codes(client, uri, version) != wanted:
        pass


def test_trials_wait_for_a_pause() -> None:
    client = Client()
    client.initialize()
    uri, text = "untitled:trials.py", KERNEL.format(name="first") + KERNEL.format(name="second")
    client.open(uri, text)
    assert codes(client, uri, 1) == []
    wait_for(client, uri, 1, ["never-stored"] * 2)
    # A key in the second kernel: the first one's finding stays, the second's comes back after a pause.
    line = len(KERNEL.splitlines()) + KERNEL.splitlines().index("    cols = tl.arange(0, BLOCK)")
    client.change(uri, 2, edit(line, 0, line, 0, "    # said\n"))
    assert codes(client, uri, 2) == ["never-stored"]
    wait_for(client, uri, 2, ["never-stored"] * 2)
    client.change(uri, 3, edit(0, 0, 0, 0, "\n"))
    assert codes(client, uri, 3) == ["never-stored"] * 2
    assert client.shut_down() == 0, client.stderr.decode()


def test_what_silences_a_trial_is_never_called_needless() -> None:
    client = Client()
    client.initialize()
    uri, text = "untitled:trials.py", KERNEL.format(name="first")
    text = text.replace(
        "mask=cols < n_cols)\n\n", "mask=cols < n_cols)  # tad: ignore[never-stored]\n\n", 1
    )
    client.open(uri, text)
    assert codes(client, uri, 1) == []
    client.change(uri, 2, edit(8, 0, 8, 0, "    # said\n"))
    assert codes(client, uri, 2) == []
    needless = text.replace("never-stored", "grid-too-large")
    client.change(uri, 3, {"text": needless})
    wait_for(client, uri, 3, ["never-stored", "unused-ignore"])
    assert client.shut_down() == 0, client.stderr.decode()


def test_whoever_asks_for_diagnostics_gets_everything_at_once() -> None:
    client = Client()
    client.initialize(initializationOptions={"diagnostics": "pull"})
    uri = "untitled:trials.py"
    client.open(uri, KERNEL.format(name="first"))
    report = client.request("textDocument/diagnostic", {"textDocument": {"uri": uri}})
    assert [found["code"] for found in report["items"]] == ["never-stored"]
    assert client.shut_down() == 0, client.stderr.decode()
