"""Arithmetic of the stand-in for torch: element-wise operations, reductions, products, with gradients.

`install_methods` puts them on `Tensor`; `FUNCTIONS` are the names of the torch module.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from tests.support.fake_dtype import DTYPES, dtype
from tests.support.fake_tensor import Tensor, from_values, promote, record, sum_to

erf = np.vectorize(math.erf, otypes=[np.float64])
FUNCTIONS: dict[str, Callable[..., object]] = {}


def values_of(operand: object) -> np.ndarray | float | int:
    """A tensor's values; a scalar as it is."""
    return operand.values if isinstance(operand, Tensor) else operand  # type: ignore[return-value]


def wide(operand: object) -> object:
    """Values to compute with: half precisions in float32, scalars left to the tensor's type."""
    values = values_of(operand)
    if isinstance(values, np.ndarray) and values.dtype == np.float16:
        return values.astype(np.float32)
    return values


def binary(
    name: str,
    function: Callable[..., object],
    gradient: Callable[..., tuple[object, object]] | None,
) -> Callable[[object, object], Tensor]:
    """An element-wise operation of two operands; `gradient(g, a, b)` in NumPy."""

    def operation(left: object, right: object) -> Tensor:
        tensor = left if isinstance(left, Tensor) else right
        assert isinstance(tensor, Tensor)
        kind = promote(left, right)
        if name in COMPARISONS:
            kind = DTYPES["bool"]
        elif name == "div" and not kind.is_floating_point:
            kind = DTYPES["float32"]
        with np.errstate(all="ignore"):
            out = from_values(np.asarray(function(wide(left), wide(right))), kind, tensor.device)
        if gradient is None:
            return out
        inputs = [x for x in (left, right) if isinstance(x, Tensor)]

        def pull(g: Tensor) -> list[Tensor]:
            both = gradient(g.values.astype(np.float64), values_of(left), values_of(right))
            return [
                sum_to(from_values(np.broadcast_to(d, tuple(g.shape)), x.dtype, x.device), x.shape)
                for x, d in zip((left, right), both, strict=True)
                if isinstance(x, Tensor)
            ]

        return record(name, out, inputs, pull)

    return operation


COMPARISONS = {"eq", "ne", "lt", "le", "gt", "ge"}


def power_gradient(g: np.ndarray, a: object, b: object) -> tuple[object, object]:
    """Adjoints of a ** b."""
    base = np.asarray(a, dtype=np.float64)
    with np.errstate(all="ignore"):
        log = np.where(base > 0, np.log(np.where(base > 0, base, 1.0)), 0.0)
        return g * b * base ** (np.asarray(b) - 1), g * base ** np.asarray(b) * log


BINARY: dict[str, tuple[Callable[..., object], Callable[..., tuple[object, object]] | None]] = {
    "add": (operator.add, lambda g, a, b: (g, g)),
    "sub": (operator.sub, lambda g, a, b: (g, -g)),
    "mul": (operator.mul, lambda g, a, b: (g * b, g * a)),
    "div": (operator.truediv, lambda g, a, b: (g / b, -g * a / (b * np.asarray(b, np.float64)))),
    "pow": (operator.pow, power_gradient),
    "maximum": (
        np.maximum,
        lambda g, a, b: (g * ((a > b) + 0.5 * (a == b)), g * ((b > a) + 0.5 * (a == b))),
    ),
    "minimum": (
        np.minimum,
        lambda g, a, b: (g * ((a < b) + 0.5 * (a == b)), g * ((b < a) + 0.5 * (a == b))),
    ),
    "floor_divide": (operator.floordiv, None),
    "remainder": (operator.mod, None),
    "bitwise_and": (operator.and_, None),
    "bitwise_or": (operator.or_, None),
    "bitwise_xor": (operator.xor, None),
    "eq": (operator.eq, None),
    "ne": (operator.ne, None),
    "lt": (operator.lt, None),
    "le": (operator.le, None),
    "gt": (operator.gt, None),
    "ge": (operator.ge, None),
}
OPERATORS = {
    "add": "add",
    "sub": "sub",
    "mul": "mul",
    "div": "truediv",
    "pow": "pow",
    "floor_divide": "floordiv",
    "remainder": "mod",
    "bitwise_and": "and",
    "bitwise_or": "or",
    "bitwise_xor": "xor",
}


def sigmoid(x: np.ndarray) -> np.ndarray:
    """The logistic function, stable on both sides."""
    e = np.exp(-np.abs(x))
    return np.where(x >= 0, 1 / (1 + e), e / (1 + e))


# name -> (value of x, derivative from x and the result)
UNARY: dict[str, tuple[Callable[..., np.ndarray], Callable[..., object] | None]] = {
    "neg": (np.negative, lambda x, y: -1.0),
    "exp": (np.exp, lambda x, y: y),
    "exp2": (np.exp2, lambda x, y: y * math.log(2)),
    "expm1": (np.expm1, lambda x, y: y + 1),
    "log": (np.log, lambda x, y: 1 / x),
    "log2": (np.log2, lambda x, y: 1 / (x * math.log(2))),
    "log1p": (np.log1p, lambda x, y: 1 / (1 + x)),
    "sqrt": (np.sqrt, lambda x, y: 0.5 / y),
    "rsqrt": (lambda x: 1 / np.sqrt(x), lambda x, y: -0.5 * y / x),
    "reciprocal": (lambda x: 1 / x, lambda x, y: -y * y),
    "sin": (np.sin, lambda x, y: np.cos(x)),
    "cos": (np.cos, lambda x, y: -np.sin(x)),
    "tanh": (np.tanh, lambda x, y: 1 - y * y),
    "sigmoid": (sigmoid, lambda x, y: y * (1 - y)),
    "silu": (lambda x: x * sigmoid(x), lambda x, y: sigmoid(x) * (1 + x * (1 - sigmoid(x)))),
    "relu": (lambda x: np.maximum(x, 0), lambda x, y: x > 0),
    "abs": (np.abs, lambda x, y: np.sign(x)),
    "erf": (erf, lambda x, y: 2 / math.sqrt(math.pi) * np.exp(-x * x)),
    "softplus": (lambda x: np.logaddexp(0, x), lambda x, y: sigmoid(x)),
    "gelu": (
        lambda x: x * 0.5 * (1 + erf(x / math.sqrt(2))),
        lambda x, y: (
            0.5 * (1 + erf(x / math.sqrt(2))) + x * np.exp(-x * x / 2) / math.sqrt(2 * math.pi)
        ),
    ),
    "square": (np.square, lambda x, y: 2 * x),
    "floor": (np.floor, lambda x, y: 0.0),
    "ceil": (np.ceil, lambda x, y: 0.0),
    "round": (np.round, lambda x, y: 0.0),
    "sign": (np.sign, lambda x, y: 0.0),
    "isnan": (np.isnan, None),
    "isinf": (np.isinf, None),
    "isfinite": (np.isfinite, None),
    "logical_not": (np.logical_not, None),
    "bitwise_not": (np.invert, None),
}
PREDICATES = {"isnan", "isinf", "isfinite", "logical_not"}
KEEPS_INTEGERS = {"neg", "abs", "relu", "square", "floor", "ceil", "round", "sign", "bitwise_not"}


def unary(
    name: str, function: Callable[..., np.ndarray], derivative: Callable[..., object] | None
) -> Callable[..., Tensor]:
    """An element-wise operation of one operand."""

    def operation(x: Tensor, **ignored: object) -> Tensor:
        values = x.values
        if x.dtype.is_floating_point:
            values = values.astype(np.float64)
        kind = x.dtype
        if name in PREDICATES:
            kind = DTYPES["bool"]
        elif not kind.is_floating_point and name not in KEEPS_INTEGERS:
            kind, values = DTYPES["float32"], values.astype(np.float64)
        with np.errstate(all="ignore"):
            result = function(values)
        out = from_values(result, kind, x.device)
        if derivative is None:
            return out

        def pull(g: Tensor) -> list[Tensor]:
            with np.errstate(all="ignore"):
                return [from_values(g.values * derivative(values, result), x.dtype, x.device)]

        return record(name, out, [x], pull)

    return operation


def axes_of(dim: object, rank: int) -> tuple[int, ...]:
    """Reduced dimensions, all when none is named."""
    if dim is None or dim == ():
        return tuple(range(rank))
    dims = dim if isinstance(dim, list | tuple) else (dim,)
    return tuple(int(d) % rank for d in dims)


def reduction(name: str) -> Callable[..., Tensor]:
    """sum and mean."""

    def operation(
        x: Tensor, dim: object = None, keepdim: bool = False, *, dtype: dtype | None = None
    ) -> Tensor:
        axes = axes_of(dim, x.ndim)
        count = math.prod(x.shape[a] for a in axes) if name == "mean" else 1
        kind = dtype or (x.dtype if x.dtype.is_floating_point else DTYPES["int64"])
        values = x.values.astype(np.float64 if kind.is_floating_point else np.int64)
        total = values.sum(axis=axes, keepdims=True) / count
        kept = from_values(total, kind, x.device)
        out = kept if keepdim else kept.reshape([n for i, n in enumerate(x.shape) if i not in axes])

        def pull(g: Tensor) -> list[Tensor]:
            wide_g = g.values.reshape(total.shape) / count
            return [from_values(np.broadcast_to(wide_g, tuple(x.shape)), x.dtype, x.device)]

        return record(name, out, [x], pull)

    return operation


def extremum(name: str) -> Callable[..., object]:
    """max, min, amax, amin; `max(dim)` returns values and indices."""
    pick = np.max if "max" in name else np.min
    where = np.argmax if "max" in name else np.argmin

    def operation(x: Tensor, dim: object = None, keepdim: bool = False) -> object:
        if isinstance(dim, Tensor):
            return FUNCTIONS["maximum" if "max" in name else "minimum"](x, dim)
        axes = axes_of(dim, x.ndim)
        best = pick(x.values, axis=axes, keepdims=True)
        shape = best.shape if keepdim else [n for i, n in enumerate(x.shape) if i not in axes]
        out = from_values(best.reshape(tuple(shape)), x.dtype, x.device)

        def pull(g: Tensor) -> list[Tensor]:
            hit = (x.values == best).astype(np.float64)
            if dim is not None and not name.startswith("a"):
                first = np.zeros_like(hit)
                index = np.expand_dims(where(x.values, axis=axes[0]), axes[0])
                np.put_along_axis(first, index, 1.0, axis=axes[0])
                hit = first
            share = hit / hit.sum(axis=axes, keepdims=True)
            return [from_values(share * g.values.reshape(best.shape), x.dtype, x.device)]

        record(name, out, [x], pull)
        if dim is None or name.startswith("a"):
            return out
        index = where(x.values, axis=axes[0]).reshape(tuple(shape))
        return out, from_values(index, DTYPES["int64"], x.device)

    return operation


class Sorted(NamedTuple):
    """What `sort` returns."""

    values: Tensor
    indices: Tensor


def sort(x: Tensor, dim: int = -1) -> Sorted:
    """In rising order; without a gradient."""
    order = np.argsort(x.values, axis=dim, kind="stable")
    values = np.take_along_axis(x.values, order, axis=dim)
    return Sorted(
        from_values(values, x.dtype, x.device), from_values(order, DTYPES["int64"], x.device)
    )


def argsort(x: Tensor, dim: int = -1, descending: bool = False, stable: bool = False) -> Tensor:
    """The places of the elements in rising order; always stable."""
    assert not descending and isinstance(stable, bool)
    return sort(x, dim).indices


def matmul(left: Tensor, right: Tensor) -> Tensor:
    """The matrix product, batched; gradients by the transposes."""
    kind = promote(left, right)
    precise = np.float64
    out = from_values(
        np.matmul(left.values.astype(precise), right.values.astype(precise)), kind, left.device
    )

    def pull(g: Tensor) -> list[Tensor]:
        a, b, d = (t.values.astype(precise) for t in (left, right, g))
        if a.ndim == 1 or b.ndim == 1:
            a2, b2 = (a[None, :] if a.ndim == 1 else a), (b[:, None] if b.ndim == 1 else b)
            d2 = d.reshape(np.matmul(a2, b2).shape)
        else:
            a2, b2, d2 = a, b, d
        da = np.matmul(d2, np.swapaxes(b2, -1, -2))
        db = np.matmul(np.swapaxes(a2, -1, -2), d2)
        return [
            sum_to(from_values(x, t.dtype, t.device), t.shape).reshape(t.shape)
            for x, t in ((da, left), (db, right))
        ]

    return record("matmul", out, [left, right], pull)


def where(condition: Tensor, x: object, y: object) -> Tensor:
    """Element-wise choice."""
    tensor = x if isinstance(x, Tensor) else y if isinstance(y, Tensor) else condition
    kind = promote(x, y) if isinstance(x, Tensor) or isinstance(y, Tensor) else DTYPES["float32"]
    out = from_values(np.where(condition.values, values_of(x), values_of(y)), kind, tensor.device)
    inputs = [t for t in (x, y) if isinstance(t, Tensor)]

    def pull(g: Tensor) -> list[Tensor]:
        chosen = np.broadcast_to(condition.values, tuple(g.shape))
        parts = (np.where(chosen, g.values, 0), np.where(chosen, 0, g.values))
        return [
            sum_to(from_values(p, t.dtype, t.device), t.shape)
            for t, p in zip((x, y), parts, strict=True)
            if isinstance(t, Tensor)
        ]

    return record("where", out, inputs, pull)


def softmax(x: Tensor, dim: int = -1, dtype: dtype | None = None) -> Tensor:
    """The softmax along one dimension."""
    source = x if dtype is None else x.to(dtype)
    e = FUNCTIONS["exp"](source - FUNCTIONS["amax"](source.detach(), dim, True))
    return e / e.sum(dim, True)  # type: ignore[attr-defined]


def log_softmax(x: Tensor, dim: int = -1, dtype: dtype | None = None) -> Tensor:
    """The logarithm of the softmax."""
    source = x if dtype is None else x.to(dtype)
    shifted = source - FUNCTIONS["amax"](source.detach(), dim, True)
    return shifted - FUNCTIONS["log"](FUNCTIONS["exp"](shifted).sum(dim, True))  # type: ignore


def clamp(x: Tensor, min: float | None = None, max: float | None = None) -> Tensor:
    """Limits every element."""
    low = -np.inf if min is None else min
    high = np.inf if max is None else max
    out = from_values(np.clip(x.values, low, high), x.dtype, x.device)
    inside = (x.values >= low) & (x.values <= high)
    return record("clamp", out, [x], lambda g: [from_values(g.values * inside, x.dtype, x.device)])


def cumsum(x: Tensor, dim: int, dtype: dtype | None = None) -> Tensor:
    """The running sum."""
    kind = dtype or (x.dtype if x.dtype.is_floating_point else DTYPES["int64"])
    out = from_values(np.cumsum(x.values, axis=dim), kind, x.device)

    def pull(g: Tensor) -> list[Tensor]:
        back = np.flip(np.cumsum(np.flip(g.values, dim), axis=dim), dim)
        return [from_values(back, x.dtype, x.device)]

    return record("cumsum", out, [x], pull)


def join(name: str, function: Callable[..., np.ndarray]) -> Callable[..., Tensor]:
    """cat and stack."""

    def operation(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
        first = tensors[0]
        out = from_values(
            function([t.values for t in tensors], axis=dim), first.dtype, first.device
        )

        def pull(g: Tensor) -> list[Tensor]:
            if name == "stack":
                return list(g.unbind(dim))
            return list(g.split([t.shape[dim] for t in tensors], dim))

        return record(name, out, list(tensors), pull)

    return operation


def allclose(a: Tensor, b: Tensor, rtol: float = 1e-5, atol: float = 1e-8, **_: object) -> bool:
    """Whether all elements are near."""
    return bool(np.allclose(a.values, b.values, rtol=rtol, atol=atol))


def in_place(name: str) -> Callable[..., Tensor]:
    """`x.name_(...)` for a recorded-free update."""

    def operation(self: Tensor, *arguments: object, **keywords: object) -> Tensor:
        self.check_in_place()
        result = FUNCTIONS[name](self.detach(), *arguments, **keywords)
        if self.grad_fn is not None:
            raise RuntimeError(f"{name}_ on a recorded tensor is not in the stand-in")
        return self.copy_(result)  # type: ignore[arg-type]

    return operation


def fill_functions() -> None:
    """Fills FUNCTIONS from the tables."""
    for name, (function, gradient) in BINARY.items():
        FUNCTIONS[name] = binary(name, function, gradient)
    for name, (function, derivative) in UNARY.items():
        FUNCTIONS[name] = unary(name, function, derivative)
    for name in ("sum", "mean"):
        FUNCTIONS[name] = reduction(name)
    for name in ("max", "min", "amax", "amin"):
        FUNCTIONS[name] = extremum(name)
    FUNCTIONS.update(
        matmul=matmul, mm=matmul, bmm=matmul, mv=matmul, dot=matmul, where=where, softmax=softmax
    )
    FUNCTIONS.update(
        log_softmax=log_softmax, clamp=clamp, cumsum=cumsum, allclose=allclose, sort=sort, argsort=argsort,
        cat=join("cat", np.concatenate), stack=join("stack", np.stack),
        subtract=FUNCTIONS["sub"], multiply=FUNCTIONS["mul"], divide=FUNCTIONS["div"],
        negative=FUNCTIONS["neg"], absolute=FUNCTIONS["abs"], true_divide=FUNCTIONS["div"],
        equal=lambda a, b: bool(np.array_equal(a.values, b.values)),
        all=lambda x: from_values(np.all(x.values), DTYPES["bool"], x.device),
        any=lambda x: from_values(np.any(x.values), DTYPES["bool"], x.device),
        argmax=lambda x, dim=None: from_values(np.argmax(x.values, dim), DTYPES["int64"], x.device),
        argmin=lambda x, dim=None: from_values(np.argmin(x.values, dim), DTYPES["int64"], x.device),
    )  # fmt: skip


METHODS_NOT = {"where", "cat", "stack"}


def install_methods() -> None:
    """Puts the operations and operators on Tensor."""
    fill_functions()
    for name, function in FUNCTIONS.items():
        if name not in METHODS_NOT:
            setattr(Tensor, name, function)
    for name, symbol in OPERATORS.items():
        function = FUNCTIONS[name]
        setattr(Tensor, f"__{symbol}__", function)
        setattr(Tensor, f"__r{symbol}__", lambda self, other, f=function: f(other, self))
        setattr(Tensor, f"{name}_", in_place(name))
    for name in COMPARISONS:
        setattr(Tensor, f"__{name}__", FUNCTIONS[name])
    for name in ("exp", "sqrt", "neg", "clamp", "relu", "sigmoid", "tanh", "abs"):
        setattr(Tensor, f"{name}_", in_place(name))
    Tensor.__matmul__ = matmul  # type: ignore[attr-defined]
    Tensor.__neg__ = FUNCTIONS["neg"]  # type: ignore[attr-defined]
    Tensor.__abs__ = FUNCTIONS["abs"]  # type: ignore[attr-defined]
    Tensor.__invert__ = FUNCTIONS["bitwise_not"]  # type: ignore[attr-defined]
    for name, kind in (("float", "float32"), ("half", "float16"), ("bfloat16", "bfloat16"),
                       ("double", "float64"), ("int", "int32"), ("long", "int64"),
                       ("bool", "bool")):  # fmt: skip
        setattr(Tensor, name, lambda self, k=kind: self.to(DTYPES[k]))


install_methods()
