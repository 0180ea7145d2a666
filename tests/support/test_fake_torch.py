"""The stand-in for torch: layouts, conversions, the tape and autograd.Function as PyTorch has them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from types import ModuleType

import numpy as np
import pytest

from tests.support import fake_torch


@pytest.fixture
def torch() -> Iterator[ModuleType]:
    """The stand-in as `torch` for one test."""
    before = {name for name in sys.modules if name.partition(".")[0] == "torch"}
    yield fake_torch.install()
    for name in list(sys.modules):
        if name.partition(".")[0] == "torch" and name not in before:
            del sys.modules[name]


def numeric_gradient(f: Callable[[np.ndarray], float], x: np.ndarray) -> np.ndarray:
    """Central differences."""
    out = np.zeros_like(x)
    for index in np.ndindex(*x.shape):
        step = np.zeros_like(x)
        step[index] = 1e-6
        out[index] = (f(x + step) - f(x - step)) / 2e-6
    return out


def test_views_share_memory(torch: ModuleType) -> None:
    """Strides, offsets, and writes through views."""
    x = torch.arange(24).view(2, 3, 4)
    assert x.stride() == (12, 4, 1) and x.dtype is torch.int64
    y = x.transpose(1, 2)
    assert tuple(y.shape) == (2, 4, 3) and y.stride() == (12, 1, 4)
    assert not y.is_contiguous() and y.contiguous().stride() == (12, 3, 1)
    z = x[1, :, ::2]
    assert z.storage_offset() == 12 and z.stride() == (4, 2)
    assert z.data_ptr() == x.data_ptr() + 12 * 8
    z.zero_()
    assert x[1].tolist()[0] == [0, 13, 0, 15]
    assert x[None, :, 0].shape == (1, 2, 4)
    assert x[0, -1, 1].item() == 9
    assert x.expand(2, 3, 4).stride() == (12, 4, 1)
    assert x[:, :1].expand(-1, 3, -1).stride() == (12, 0, 1)
    with pytest.raises(RuntimeError, match="view size is not compatible"):
        y.view(-1)
    assert y.reshape(-1).tolist()[:4] == [0, 4, 8, 1]


def test_factories(torch: ModuleType) -> None:
    """Shapes, dtypes, and layouts kept by `_like`; fresh memory is poisoned."""
    x = torch.zeros((3, 5), dtype=torch.bfloat16, device="cuda")
    assert x.is_cuda and x.element_size() == 2 and str(x.dtype) == "torch.bfloat16"
    t = torch.empty_like(torch.zeros(3, 5).t())
    assert tuple(t.shape) == (5, 3) and t.stride() == (1, 5)
    sliced = torch.empty_like(torch.zeros(4, 8)[:, :4])
    assert sliced.stride() == (4, 1)
    assert np.isnan(torch.empty(4).numpy()).all()
    assert torch.full((2,), 3).dtype is torch.int64
    assert torch.tensor([1.5, 2.0]).dtype is torch.float32
    assert x.new_ones(2).dtype is torch.bfloat16
    assert torch.empty_strided((2, 3), (1, 2)).stride() == (1, 2)
    assert x.data_ptr() % 256 == 0


def test_bfloat16_and_float8_round_to_nearest_even(torch: ModuleType) -> None:
    """Known encodings."""
    x = torch.tensor([1.0, 1.00390625, 1.01171875, 3.0e38, float("nan"), -0.0])
    b = x.to(torch.bfloat16)
    assert b.raw[:4].tolist() == [0x3F80, 0x3F80, 0x3F82, 0x7F62]
    assert np.isnan(b.values[4]) and np.signbit(b.values[5])
    e4m3 = torch.tensor([1.0, 448.0, 0.0625, 1.0625, 1000.0]).to(torch.float8_e4m3fn)
    assert e4m3.raw[:4].tolist() == [0x38, 0x7E, 0x18, 0x38]
    assert np.isnan(e4m3.values[4])
    e5m2 = torch.tensor([1.0, 57344.0, -1.125, 1e6]).to(torch.float8_e5m2)
    assert e5m2.values.tolist() == [1.0, 57344.0, -1.0, float("inf")]


def test_every_float8_code_survives(torch: ModuleType) -> None:
    """Decoding and encoding again gives the same value for each code."""
    for name in ("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz"):
        codes = torch.arange(256).to(torch.uint8).view(getattr(torch, name))
        values = codes.to(torch.float32)
        again = values.to(getattr(torch, name)).to(torch.float32)
        np.testing.assert_array_equal(values.numpy(), again.numpy())


def test_promotion(torch: ModuleType) -> None:
    """Results have torch's types."""
    half, single = torch.ones(2, dtype=torch.float16), torch.ones(2)
    whole = torch.ones(2, dtype=torch.int32)
    assert (half + single).dtype is torch.float32
    assert (half * 2.5).dtype is torch.float16
    assert (whole * 2.5).dtype is torch.float32
    assert (whole / 2).dtype is torch.float32
    assert (half + torch.tensor(2.0)).dtype is torch.float16
    assert (single > 0).dtype is torch.bool
    assert (half + torch.ones(2, dtype=torch.bfloat16)).dtype is torch.float32


EXPRESSIONS = {
    "add_mul": lambda t, x: (x * 3 + x / (x * x + 2) - 1).sum(),
    "broadcast": lambda t, x: (x * x.sum(0) + x.mean(1, keepdim=True)).sum(),
    "views": lambda t, x: (x.t().contiguous().view(-1) * t.arange(12)).sum(),
    "slices": lambda t, x: (x[1:, ::2] ** 2).sum() + x[0].reshape(2, 2).permute(1, 0)[1].sum(),
    "matmul": lambda t, x: ((x @ x.transpose(0, 1)) * (x.unsqueeze(1) * x).sum(-1)).sum(),
    "unary": lambda t, x: (t.exp(x) * t.sigmoid(x) + t.tanh(x) - t.cos(x)).sum(),
    "softmax": lambda t, x: (t.nn.functional.softmax(x, -1) * x).sum(),
    "cat": lambda t, x: (t.cat([x, x * 2], dim=1) * t.arange(8)).sum(),
    "expand": lambda t, x: (x[:, :1].expand(3, 4) * x).sum(),
    "where": lambda t, x: t.where(x > 0, x * x, -x).sum(),
    "cumsum": lambda t, x: (t.cumsum(x, 1) * x).sum(),
    "gelu": lambda t, x: t.nn.functional.gelu(x).sum() + t.nn.functional.silu(x).sum(),
    "rsqrt": lambda t, x: (
        t.rsqrt(x * x + 1).sum() + t.log(x * x + 1).sum() + t.sqrt(x * x + 1).sum()
    ),
    "max": lambda t, x: (x.max(1)[0] * 3 + x.amax(1)).sum() + x.max(),
}


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_gradients_of_host_operations(torch: ModuleType, name: str) -> None:
    """Each expression's gradient against central differences, in float64."""
    start = np.random.default_rng(3).standard_normal((3, 4))

    def value(at: np.ndarray) -> float:
        return EXPRESSIONS[name](torch, torch.tensor(at, dtype=torch.float64)).item()

    x = torch.tensor(start, dtype=torch.float64, requires_grad=True)
    EXPRESSIONS[name](torch, x).backward()
    np.testing.assert_allclose(x.grad.numpy(), numeric_gradient(value, start), atol=1e-7)


def test_gradients_accumulate(torch: ModuleType) -> None:
    """Twice through one leaf; detach and no_grad stop it."""
    x = torch.ones(3, requires_grad=True)
    ((x * 2).sum() + (x * 3).sum()).backward()
    (x.detach() * 5 + x).sum().backward()
    assert x.grad.tolist() == [6, 6, 6]
    with torch.no_grad():
        assert not (x * 2).requires_grad
    with pytest.raises(RuntimeError, match="does not require grad"):
        x.detach().sum().backward()
    with pytest.raises(RuntimeError, match="leaf Variable"):
        x.add_(1)


def test_function_with_everything(torch: ModuleType) -> None:
    """Several outputs, non-tensor arguments, None gradients, needs_input_grad, a constant output."""
    seen: dict[str, object] = {}

    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(ctx: object, x: object, factor: float, w: object) -> object:
            ctx.save_for_backward(x, w)
            ctx.factor = factor
            count = torch.tensor([x.numel()])
            ctx.mark_non_differentiable(count)
            return x * factor * w, x + w, count

        @staticmethod
        def backward(ctx: object, g: object, h: object, c: object) -> object:
            x, w = ctx.saved_tensors
            seen["needs"] = ctx.needs_input_grad
            seen["h"] = h.tolist()
            dw = g * ctx.factor * x + h if ctx.needs_input_grad[2] else None
            return g * ctx.factor * w + h, None, dw

    x = torch.tensor([1.0, 2.0], requires_grad=True)
    w = torch.tensor([3.0, 4.0])
    y, z, count = Scale.apply(x, 2.0, w)
    assert y.grad_fn is not None and not count.requires_grad
    (y.view(2, 1) * 10).sum().backward()
    assert x.grad.tolist() == [60, 80]
    assert seen == {"needs": (True, False, False), "h": [0, 0]}
    (gw,) = torch.autograd.grad(
        Scale.apply(x, 2.0, w.requires_grad_())[1].sum(), [w], allow_unused=True
    )
    assert gw.tolist() == [1, 1]


def wrong(torch: ModuleType, result: Callable[[object], object]) -> Callable[[], None]:
    """A Function whose backward returns `result(g)`, run backward."""

    class Wrong(torch.autograd.Function):
        @staticmethod
        def forward(ctx: object, x: object, n: int) -> object:
            return x * n

        @staticmethod
        def backward(ctx: object, g: object) -> object:
            return result(g)

    def go() -> None:
        Wrong.apply(torch.ones(3, requires_grad=True), 2).sum().backward()

    return go


def test_wrong_backwards_are_errors(torch: ModuleType) -> None:
    """A missing gradient, a gradient of a number, a wrong shape."""
    with pytest.raises(RuntimeError, match="incorrect number of gradients"):
        wrong(torch, lambda g: g)()
    with pytest.raises(RuntimeError, match="different than None"):
        wrong(torch, lambda g: (g, g))()
    with pytest.raises(RuntimeError, match="invalid gradient"):
        wrong(torch, lambda g: (g[:2], None))()
    wrong(torch, lambda g: (g, None, None))()


def test_saved_tensors_may_not_change(torch: ModuleType) -> None:
    """A write between forward and backward is an error."""

    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx: object, x: object) -> object:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx: object, g: object) -> object:
            return 2 * ctx.saved_tensors[0] * g

    x = torch.ones(3, requires_grad=True)
    y = x * 1
    z = Square.apply(y)
    y.detach().zero_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()


def test_function_in_place(torch: ModuleType) -> None:
    """An input that forward overwrites and marks dirty carries on with the new node."""

    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx: object, x: object) -> object:
            x.raw[...] *= 2
            ctx.mark_dirty(x)
            return x

        @staticmethod
        def backward(ctx: object, g: object) -> object:
            return g * 2

    x = torch.ones(3, requires_grad=True)
    y = x * 3
    z = Double.apply(y)
    assert z is y and z.tolist() == [6, 6, 6]
    z.sum().backward()
    assert x.grad.tolist() == [6, 6, 6]
    with pytest.raises(RuntimeError, match="leaf Variable"):
        Double.apply(torch.ones(3, requires_grad=True))


def test_setup_context_and_decorators(torch: ModuleType) -> None:
    """The newer form of Function, and the wrappers people put around it."""

    class Cube(torch.autograd.Function):
        @staticmethod
        @torch.amp.custom_fwd(device_type="cuda")
        def forward(x: object) -> object:
            return x * x * x

        @staticmethod
        def setup_context(ctx: object, inputs: tuple, output: object) -> None:
            ctx.save_for_backward(*inputs)

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx: object, g: object) -> object:
            (x,) = ctx.saved_tensors
            return g * 3 * x * x

    x = torch.tensor([2.0], requires_grad=True)
    with torch.cuda.device(x.device):
        Cube.apply(x).backward()
    assert x.grad.tolist() == [12]


PROBE = """
from tests.support import fake_torch
fake_torch.install(permissive=True)
import torch, torch.nn as nn, torch.nn.functional as F
from torch.distributed.tensor import DTensor
from transformers.models.llama import LlamaConfig
import einops
class M(nn.Linear):
    pass
class N(LlamaConfig):
    pass
assert torch.empty(3).shape == (3,)
@torch._dynamo.disable
def f(x):
    return x + 1
assert f(1) == 2
try:
    from triton import no_such_name
except ImportError:
    pass
else:
    raise SystemExit("triton answered")
import math_that_is_missing.sub
"""


def test_permissive_imports_in_their_own_process() -> None:
    """Modules that are missing import as shells; Triton stays itself."""
    done = subprocess.run(
        [sys.executable, "-c", PROBE], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr


def test_a_missing_name_is_an_error(torch: ModuleType) -> None:
    """Without permission the stand-in does not make names up."""
    with pytest.raises(AttributeError, match="no 'torch.fft_of_everything'"):
        _ = torch.fft_of_everything
