"""On a CUDA machine: backwards of linear attention, short convolutions and sums beside flash-linear-attention's own.

    tad-lsp --backward bench/gpu/style/linear.py -o DIR/linear_backward.py
    python bench/gpu/linear.py DIR PEERS [--before FOLDER]

PEERS: a folder with the packages `fla` and `einops`. `--before`: a folder with another derived `linear_backward.py`,
timed in the same run. A row: ms of a backward (the median of 12, with the L2 cache flushed), MiB that it takes beside
what was there, and the distance of each gradient from the first row's of that case, relative to its norm.
"""

import argparse
import importlib.util
import statistics
import sys
import types
from pathlib import Path

import torch
import torch.nn.functional as F

REPEATS, WAIT = 12, 1_500_000
SHAPES = ((8, 2048, 16, 64, 64), (4, 2048, 16, 128, 128), (1, 4096, 16, 128, 128))
CHUNK = 64


def module(folder, name):
    spec = importlib.util.spec_from_file_location(name, Path(folder) / "linear_backward.py")
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def rand(*shape, dtype=torch.bfloat16):
    return torch.randn(*shape, device="cuda").to(dtype)


class Row:
    """One case, whose peer's gradients are what all others are compared with."""

    def __init__(self, name, tensors, upstream):
        self.name, self.tensors, self.upstream = name, tensors, upstream
        self.wanted = None
        self.l2 = torch.empty(64 << 20, dtype=torch.int32, device="cuda")

    def gradients(self, out):
        return torch.autograd.grad(out, self.tensors, self.upstream, retain_graph=True)

    def time(self, who, call):
        try:
            out = call(*self.tensors)
            before = torch.cuda.memory_allocated()
            torch.cuda.reset_peak_memory_stats()
            found = self.gradients(out)
            memory = (torch.cuda.max_memory_allocated() - before) >> 20
            self.wanted = self.wanted or found
            off = ["%.0e" % ((a - b).norm() / b.norm()).item() for a, b in zip(found, self.wanted)]  # noqa: B905, UP031
            times = []
            for _ in range(REPEATS):
                self.l2.zero_()
                torch.cuda._sleep(WAIT)
                start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
                start.record()
                self.gradients(out)
                end.record()
                torch.cuda.synchronize()
                times.append(start.elapsed_time(end))
            print(
                f"| {self.name} | {who} | {statistics.median(times):.3f} | {memory} | {' '.join(off)} |",
                flush=True,
            )
        except Exception as error:  # noqa: BLE001  (one peer that fails is a row that says so)
            print(f"| {self.name} | {who} | {str(error).splitlines()[0][:90]} | | |", flush=True)


def ours(modules, call):
    return {who: lambda *tensors, m=m: call(m, *tensors) for who, m in modules.items()}


def attention(modules, shape):
    from fla.ops.linear_attn import chunk_linear_attn
    from fla.ops.simple_gla import chunk_simple_gla, fused_recurrent_simple_gla

    B, T, H, K, V = shape  # noqa: N806
    keys = F.normalize(torch.randn(B, T, H, K, device="cuda"), dim=-1).bfloat16()
    decay = F.logsigmoid(torch.randn(B, T, H, device="cuda") + 3)
    tensors = [t.requires_grad_() for t in (rand(B, T, H, K), keys, rand(B, T, H, V), decay)]
    row = Row(f"token by token, {shape}", tensors, rand(B, T, H, V))
    row.time("fla", lambda q, k, v, g: fused_recurrent_simple_gla(q, k, v, g)[0])
    for who, call in ours(modules, lambda m, q, k, v, g: m.recurrent(q, k, v, g)).items():
        row.time(who, call)
    row = Row(f"chunks of {CHUNK}, {shape}", tensors, row.upstream)
    row.time("fla", lambda q, k, v, g: chunk_simple_gla(q, k, v, g)[0])
    gated = ours(modules, lambda m, q, k, v, g: m.chunked(q, k, v, m.chunk_cumsum(g, CHUNK), CHUNK))
    for who, call in gated.items():
        row.time(who, call)
    row = Row(f"chunks of {CHUNK}, no decay, {shape}", tensors[:3], row.upstream)
    row.time("fla", lambda q, k, v: chunk_linear_attn(q, k, v, normalize=False)[0])


def convolution(modules):
    from fla.modules.causal_conv1d import causal_conv1d

    def eager(x, w):
        taps = F.pad(x.transpose(1, 2), (w.shape[1] - 1, 0))
        return F.silu(F.conv1d(taps, w[:, None], groups=len(w)).transpose(1, 2))

    row = Row(
        "causal convolution, 4 x 4096 x 4096 by 4",
        [rand(4, 4096, 4096).requires_grad_(), rand(4096, 4).requires_grad_()],
        rand(4, 4096, 4096),
    )
    row.time("PyTorch", eager)
    row.time("torch.compile", torch.compile(eager))
    row.time("fla", lambda x, w: causal_conv1d(x, w, activation="silu")[0])
    for who, call in ours(modules, lambda m, x, w: m.causal_conv(x, w)).items():
        row.time(who, call)


def sums(modules):
    def eager(x):
        return torch.cumsum(x, 1)

    x, upstream = (torch.randn(8192, 8192, device="cuda") for _ in range(2))
    row = Row("cumsum of rows, 8192 x 8192 f32", [x.requires_grad_()], upstream)
    row.time("PyTorch", eager)
    row.time("torch.compile", torch.compile(eager))
    for who, call in ours(modules, lambda m, x: m.row_cumsum(x)).items():
        row.time(who, call)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("peers")
    parser.add_argument("--before")
    options = parser.parse_args()
    # In place of this folder, whose kernels.py has the name of a package that the peers import.
    sys.path[0] = options.peers
    for name in ("fla", "fla.modules"):  # without their __init__, which import parts of other packages
        sys.modules[name] = types.ModuleType(name)
        sys.modules[name].__version__ = "0"
        sys.modules[name].__path__ = [str(Path(options.peers, *name.split(".")))]
    modules = {"derived": module(options.folder, "derived")}
    if options.before:
        modules["derived before"] = module(options.before, "before")
    print("| case | backward | ms | MiB | distance from the first |")
    print("|---|---|--:|--:|---|")
    convolution(modules)
    sums(modules)
    for shape in SHAPES:
        attention(modules, shape)


if __name__ == "__main__":
    main()
