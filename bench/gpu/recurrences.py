"""On a CUDA machine: the backwards of recurrences, at growing numbers of turns; linear or not.

    tad-lsp --backward examples/state_space.py -o DIR/state_space_backward.py
    python bench/gpu/recurrences.py DIR

Prints, a line for each launcher and number of turns, the median time of a backward and the memory it takes beside
what was there before; first the worst relative error of a gradient against PyTorch in float64, also where the tape has
room for few states.
"""

import importlib
import statistics
import sys

import torch

TURNS = (256, 1024, 4096)
BATCH, CHANNELS, STATES = 4, 1024, 16


def states(a, x, start):
    """All states of h[t] = a[t] * h[t-1] + x[t]."""
    h, out = start, []
    for t in range(x.shape[1]):
        h = a[:, t] * h + x[:, t]
        out.append(h)
    return torch.stack(out, 1)


def selective(x, dt, A, B, C, D):  # noqa: N803
    """A state of several numbers a channel."""
    h = torch.zeros(x.shape[0], x.shape[2], A.shape[1], dtype=x.dtype, device=x.device)
    out = []
    for t in range(x.shape[1]):
        h = torch.exp(dt[:, t, :, None] * A) * h + (dt[:, t] * x[:, t])[..., None] * B[:, t, None, :]
        out.append((h * C[:, t, None, :]).sum(-1) + D * x[:, t])
    return torch.stack(out, 1)


def rows(*shape):
    return torch.randn(*shape, device="cuda")


def arguments(launcher, turns, batch=BATCH, channels=CHANNELS):
    if launcher == "recurrence":
        keep = torch.rand(batch, turns, channels, device="cuda")
        return [keep, rows(batch, turns, channels), rows(batch, channels)]
    decay = -torch.rand(channels, STATES, device="cuda")
    step = 0.1 * torch.rand(batch, turns, channels, device="cuda")
    x, b, c = (rows(batch, turns, n) for n in (channels, STATES, STATES))
    return [x, step, decay, b, c, rows(channels)]


def error(call, reference, launcher):
    tensors = [t.requires_grad_() for t in arguments(launcher, 37, 2, 100)]
    out = call(*tensors)
    upstream = torch.randn_like(out)
    got = torch.autograd.grad(out, tensors, upstream)
    doubles = [t.detach().double().requires_grad_() for t in tensors]
    want = torch.autograd.grad(reference(*doubles), doubles, upstream.double())
    return max(((g.double() - w).norm() / w.norm()).item() for g, w in zip(got, want, strict=True))


def cost(call, launcher, turns):
    """Milliseconds and MiB of a backward."""
    tensors = [t.requires_grad_() for t in arguments(launcher, turns)]
    out = call(*tensors)
    upstream, times = torch.randn_like(out), []
    for _ in range(6):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        start.record()
        torch.autograd.grad(out, tensors, upstream, retain_graph=True)
        end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end))
    memory = (torch.cuda.max_memory_allocated() - before) / 2**20
    return statistics.median(times[1:]), memory


def main():
    sys.path.insert(0, sys.argv[1])
    module = importlib.import_module("state_space_backward")
    for launcher, reference in (("recurrence", states), ("selective_scan", selective)):
        call = getattr(module, launcher)
        print(f"{launcher}: error {error(call, reference, launcher):.1e}")
        for turns in TURNS:
            time, memory = cost(call, launcher, turns)
            print(f"{launcher}: {turns} turns {time:.3f} ms, {memory:.0f} MiB")
    given = module._tape_steps
    for room in (1, 5):
        module._tape_steps = lambda *_, room=room: room
        print(f"selective_scan, room for {room}: {error(module.selective_scan, selective, 'selective_scan'):.1e}")
    module._tape_steps = given


if __name__ == "__main__":
    main()
