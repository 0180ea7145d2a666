# ruff: noqa: B023 E731
"""On a CUDA machine: gradients of the emitted modules of examples/ against PyTorch in float64, and their times.

    for f in examples/*.py; do tad-lsp --backward "$f" -o DIR/"$(basename "$f" .py)_backward.py"; done
    python bench/gpu/gradients.py DIR

Each row: the largest relative error ||got - want|| / ||want|| over the inputs' gradients, with random upstreams.
"""

import importlib
import sys
import traceback

import torch
import torch.nn.functional as F

DEVICE = "cuda"


def rand(*shape, dtype=torch.float32, scale=1.0):
    return (torch.randn(*shape, device=DEVICE) * scale).to(dtype)


def attention(q, k, v, causal):
    scores = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5
    if causal:
        keep = torch.ones(scores.shape[-2:], device=q.device, dtype=torch.bool).tril()
        scores = scores.masked_fill(~keep, -torch.inf)
    return scores.softmax(-1) @ v


def window(q, k, v, width):
    T = q.shape[-2]
    i = torch.arange(T, device=q.device)
    keep = (i[:, None] >= i) & (i[:, None] - i < width)
    scores = (q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5).masked_fill(~keep, -torch.inf)
    return scores.softmax(-1) @ v


def gqa(q, k, v):
    groups = q.shape[2] // k.shape[2]
    k, v = (t.repeat_interleave(groups, 2) for t in (k, v))
    return attention(*(t.transpose(1, 2) for t in (q, k, v)), True).transpose(1, 2)


def conv(x, w, b):
    padded = F.pad(x.transpose(1, 2), (w.shape[1] - 1, 0))
    return F.conv1d(padded, w[:, None], b, groups=w.shape[0]).transpose(1, 2)


def rms(x, w):
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6) * w


def layer(x, w, b):
    return F.layer_norm(x, x.shape[-1:], w, b)


def linear_decay(a, x):
    h, out = torch.zeros_like(x[..., 0, :]), []
    for t in range(x.shape[-2]):
        h = a[..., t, :] * h + x[..., t, :]
        out.append(h)
    return torch.stack(out, -2)


half = torch.float16
CASES = [
    # module, launcher, differentiable inputs, other keyword arguments, reference
    ("activations", "gelu", lambda: [rand(37, 1001)], {}, lambda x: F.gelu(x)),
    ("activations", "silu", lambda: [rand(37, 1001)], {}, F.silu),
    ("activations", "swiglu", lambda: [rand(9, 5, 700), rand(9, 5, 700)], {}, lambda g, u: F.silu(g) * u),
    (
        "activations",
        "geglu",
        lambda: [rand(33, 1402)],
        {},
        lambda p: F.gelu(p[:, :701], approximate="tanh") * p[:, 701:],
    ),
    ("softmax", "softmax", lambda: [rand(65, 781)], {}, lambda x: x.softmax(-1)),
    ("softmax", "online_softmax", lambda: [rand(65, 7810)], {}, lambda x: x.softmax(-1)),
    ("log_softmax", "log_softmax", lambda: [rand(65, 7810)], {}, lambda x: x.log_softmax(-1)),
    ("layer_norm", "layer_norm", lambda: [rand(300, 5001), rand(5001), rand(5001)], {}, layer),
    (
        "layer_norm",
        "layer_norm_row",
        lambda: [rand(300, 1001, dtype=half), rand(1001, dtype=half), rand(1001, dtype=half)],
        {},
        layer,
    ),
    ("rms_norm", "rms_norm", lambda: [rand(300, 1001), rand(1001)], {}, rms),
    (
        "group_norm",
        "group_norm",
        lambda: [rand(3, 24, 11, 13)],
        {"n_groups": 6, "weight": rand(24), "bias": rand(24)},
        None,
    ),
    ("cumsum", "cumsum", lambda: [rand(17, 3001)], {}, lambda x: x.cumsum(-1)),
    ("conv1d", "causal_conv1d", lambda: [rand(2, 301, 70), rand(70, 4), rand(70)], {}, conv),
    ("matmul", "matmul", lambda: [rand(301, 203, dtype=half), rand(203, 157, dtype=half)], {}, lambda a, b: a @ b),
    (
        "matmul",
        "batched_matmul",
        lambda: [rand(3, 130, 70, dtype=half), rand(3, 70, 90, dtype=half)],
        {},
        lambda a, b: a @ b,
    ),
    (
        "attention",
        "attention",
        lambda: [rand(2, 3, 257, 64, dtype=half) for _ in range(3)],
        {"causal": True},
        lambda q, k, v: attention(q, k, v, True),
    ),
    (
        "attention",
        "attention",
        lambda: [rand(2, 3, 257, 64, dtype=half) for _ in range(3)],
        {"causal": False},
        lambda q, k, v: attention(q, k, v, False),
    ),
    (
        "attention_two_stage",
        "causal_attention",
        lambda: [rand(2, 3, 256, 64, dtype=half) for _ in range(3)],
        {},
        lambda q, k, v: attention(q, k, v, True),
    ),
    (
        "attention_block_pointer",
        "causal_attention",
        lambda: [rand(2, 3, 256, 64, dtype=half) for _ in range(3)],
        {},
        lambda q, k, v: attention(q, k, v, True),
    ),
    (
        "attention_variants",
        "grouped_query_attention",
        lambda: [rand(2, 200, 8, 64, dtype=half), rand(2, 200, 2, 64, dtype=half), rand(2, 200, 2, 64, dtype=half)],
        {},
        gqa,
    ),
    (
        "attention_variants",
        "window_attention",
        lambda: [rand(4, 200, 64, dtype=half) for _ in range(3)],
        {"window": 50},
        lambda q, k, v: window(q, k, v, 50),
    ),
    ("reductions", "row_sum", lambda: [rand(70, 1234)], {}, lambda x: x.sum(-1)),
    ("reductions", "column_mean", lambda: [rand(700, 123)], {}, lambda x: x.mean(0)),
    ("embedding", "embedding", None, {}, None),
]


def reference_of(launcher, options, reference):
    """PyTorch's own, in float64."""
    if launcher != "group_norm":
        return reference
    weight, bias = options["weight"].double(), options["bias"].double()
    return lambda x: F.group_norm(x, options["n_groups"], weight, bias)


def errors(call, inputs, options, reference):
    """Of a call's first result, and the largest of its gradients."""
    torch.manual_seed(1)
    tensors = [t.requires_grad_() for t in inputs()]
    out = call(*tensors, **options)
    out = out[0] if isinstance(out, tuple) else out
    upstream = torch.randn_like(out)
    got = torch.autograd.grad(out, tensors, upstream)
    doubles = [t.detach().double().requires_grad_() for t in tensors]
    want_out = reference(*doubles)
    want = torch.autograd.grad(want_out, doubles, upstream.double())
    forward = ((out.double() - want_out).norm() / want_out.norm()).item()
    return forward, max(((g.double() - w).norm() / w.norm()).item() for g, w in zip(got, want, strict=True))


def check(folder_module, launcher, inputs, options, reference):
    call = getattr(importlib.import_module(folder_module + "_backward"), launcher)
    return errors(call, inputs, options, reference_of(launcher, options, reference))


def time_ms(function):
    from triton.testing import do_bench

    return do_bench(function, warmup=50, rep=200, return_mode="median")


def timings():
    """Backward passes side by side in one run: emitted / PyTorch."""
    rows = []
    ln = importlib.import_module("layer_norm_backward")
    x, w, b = (
        rand(16384, 4096, dtype=torch.bfloat16),
        rand(4096, dtype=torch.bfloat16),
        rand(4096, dtype=torch.bfloat16),
    )
    tensors = [t.requires_grad_() for t in (x, w, b)]
    for name, make in (("emitted", lambda: ln.layer_norm(*tensors)[0]), ("PyTorch", lambda: layer(*tensors))):
        y = make()
        g = torch.randn_like(y)
        rows.append(
            ("layer norm 16384x4096 bf16", name, time_ms(lambda: torch.autograd.grad(y, tensors, g, retain_graph=True)))
        )
    sm = importlib.import_module("softmax_backward")
    x = rand(16384, 4096, dtype=torch.bfloat16).requires_grad_()
    for name, make in (("emitted", lambda: sm.softmax(x)), ("PyTorch", lambda: x.softmax(-1))):
        y = make()
        g = torch.randn_like(y)
        rows.append(("softmax 16384x4096 bf16", name, time_ms(lambda: torch.autograd.grad(y, x, g, retain_graph=True))))
    at = importlib.import_module("attention_backward")
    q, k, v = (rand(2, 16, 2048, 64, dtype=half).requires_grad_() for _ in range(3))
    for name, make in (
        ("emitted", lambda: at.attention(q, k, v, causal=True)),
        ("PyTorch SDPA", lambda: F.scaled_dot_product_attention(q, k, v, is_causal=True)),
    ):
        y = make()
        y = y[0] if isinstance(y, tuple) else y
        g = torch.randn_like(y)
        rows.append(
            (
                "attention B2 H16 T2048 D64 causal",
                name,
                time_ms(lambda: torch.autograd.grad(y, (q, k, v), g, retain_graph=True)),
            )
        )
    for what, who, milliseconds in rows:
        print(f"| {what} | {who} | {milliseconds:.3f} ms |", flush=True)


def main():
    sys.path.insert(0, sys.argv[1])
    bad = 0
    for case in CASES:
        if case[2] is None:
            continue
        try:
            forward, backward = check(*case)
            bad += backward > 1e-2
            print(f"| {case[0]} | {case[1]} | {forward:.1e} | {backward:.1e} |", flush=True)
        except Exception as problem:  # every case is reported
            bad += 1
            print(f"| {case[0]} | {case[1]} | FAILED: {type(problem).__name__}: {str(problem)[:300]}", flush=True)
            traceback.print_exc(limit=-2)
    timings()
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
