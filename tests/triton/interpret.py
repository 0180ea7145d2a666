"""Runs kernels and whole launchers in Triton's own interpreter, on NumPy arrays, without a GPU.

In: kernel source (text or a file), a grid, arrays and scalars.  Out: the arrays as the kernel left them.
`call_function` runs a host function of the module instead, and its gradients by the stand-in's tape.
The work happens in child processes, so that a wild pointer ends a child and not the tests.
"""

from __future__ import annotations

import atexit
import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from tests.support.worker import Worker, WorkerDied


class InterpretFailure(Exception):
    """The kernel did not run to its end; `kind` is import, run, outside (a write beside an array) or crash."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(kind, message)
        self.kind = kind
        self.message = message

    def __str__(self) -> str:
        return f"{self.kind}: {self.message}"


@dataclass
class CallResult:
    """What a host function returned, and the gradients of its tensor arguments by position (or None)."""

    outputs: list[object]
    gradients: list[np.ndarray | None] = field(default_factory=list)


@dataclass
class Typed:
    """An argument with an element type NumPy does not have: "bf16", "fp8e4nv", "fp8e5"."""

    values: np.ndarray
    type: str


@dataclass
class Strided:
    """An array on its way to the child with its strides in elements; pickling an array loses them."""

    values: np.ndarray
    strides: tuple[int, ...]


TORCH_NAMES = {"bf16": "bfloat16", "fp8e4nv": "float8_e4m3fn", "fp8e5": "float8_e5m2"}


# ---- the parent's side ---------------------------------------------------------------------------


def make_worker(release: Path | None = None, permissive: bool = False) -> Worker:
    """A child that interprets; `release` and `permissive` as in `compile.make_worker`."""
    environment = {
        "TRITON_INTERPRET": "1",
        "TAD_PERMISSIVE_IMPORTS": "1" if permissive else "0",
    }
    return Worker("tests.triton.interpret", environment, [release] if release else [])


@functools.cache
def default_worker() -> Worker:
    """One child shared by all plain calls of this process."""
    worker = make_worker()
    atexit.register(worker.close)
    return worker


def interpret_kernel(
    source: str | Path,
    kernel_name: str,
    grid: Sequence[int],
    args: Mapping[str, object],
    constexprs: Mapping[str, object] | None = None,
    *,
    worker: Worker | None = None,
    timeout: float = 120.0,
) -> dict[str, np.ndarray]:
    """Runs one kernel over a grid; every array argument as the kernel left it (bfloat16 as float32).

    args: arrays, `Typed` arrays, scalars, None, tuples of these.  Arrays keep their strides; memory
    between their elements reads as NaN.  Raises InterpretFailure.
    """
    request = {
        "source": source,
        "kernel_name": kernel_name,
        "grid": tuple(int(n) for n in grid),
        "arguments": {name: portable(value) for name, value in args.items()},
        "constexprs": dict(constexprs or {}),
    }
    result = ask(worker, "interpret_here", timeout, request)
    assert isinstance(result, dict)
    return result


def call_function(
    source: str | Path,
    function_name: str,
    args: Sequence[object],
    *,
    wrt: Sequence[int] = (),
    grad_outputs: Sequence[np.ndarray | None] | None = None,
    keywords: Mapping[str, object] | None = None,
    worker: Worker | None = None,
    timeout: float = 120.0,
) -> CallResult:
    """Calls a host function with tensors in place of arrays; kernels it launches are interpreted.

    function_name may be dotted (`Softmax.apply`).  wrt: positions of arguments whose gradients are
    wanted for `grad_outputs` (one per tensor output).
    """
    request = {
        "source": source,
        "function_name": function_name,
        "arguments": [portable(value) for value in args],
        "keywords": {name: portable(value) for name, value in (keywords or {}).items()},
        "wrt": list(wrt),
        "grad_outputs": None if grad_outputs is None else list(grad_outputs),
    }
    result = ask(worker, "call_here", timeout, request)
    assert isinstance(result, CallResult)
    return result


def portable(value: object) -> object:
    """An argument with its strides written down."""
    if isinstance(value, tuple):
        return tuple(portable(v) for v in value)
    if isinstance(value, np.ndarray) and not value.flags.c_contiguous:
        if all(s >= 0 and s % value.itemsize == 0 for s in value.strides):
            strides = tuple(s // value.itemsize for s in value.strides)
            return Strided(np.ascontiguousarray(value), strides)
    return value


def ask(worker: Worker | None, function: str, timeout: float, request: dict[str, object]) -> object:
    """One call to the child; its death is an InterpretFailure."""
    try:
        return (worker or default_worker()).call(function, timeout=timeout, **request)
    except WorkerDied as death:
        raise InterpretFailure("crash", str(death)) from None


# ---- the child's side ----------------------------------------------------------------------------

_fixed: list[bool] = []


def prepare() -> None:
    """The stand-ins and the interpreter's corrections, once per child."""
    from tests.triton import interpreter_fixes, kernel_module

    kernel_module.prepare()
    if not _fixed:
        interpreter_fixes.apply()
        _fixed.append(True)


def load_module(source: str | Path) -> object:
    """The user's module; its errors as InterpretFailure."""
    from tests.triton import kernel_module

    try:
        return kernel_module.load(source)
    except Exception as error:
        raise InterpretFailure("import", f"{type(error).__name__}: {error}") from None


def interpret_here(
    source: str | Path,
    kernel_name: str,
    grid: tuple[int, ...],
    arguments: dict[str, object],
    constexprs: dict[str, object],
) -> dict[str, np.ndarray]:
    """Interprets in this process; called in the child only."""
    prepare()
    from tests.triton import kernel_module
    from tests.triton.compile import live_constexprs

    module = load_module(source)
    try:
        kernel = kernel_module.find_kernel(module, kernel_name)
    except (AttributeError, TypeError) as error:
        raise InterpretFailure("import", str(error)) from None
    tensors: dict[str, object] = {}
    given = {name: to_tensor(value, tensors, name) for name, value in arguments.items()}
    run(lambda: kernel[grid](**live_constexprs({**given, **constexprs}, kernel)))  # type: ignore[index]
    check_guards(tensors)
    return {name: np.array(tensor.values) for name, tensor in tensors.items()}  # type: ignore


def call_here(
    source: str | Path,
    function_name: str,
    arguments: list[object],
    keywords: dict[str, object],
    wrt: list[int],
    grad_outputs: list[np.ndarray | None] | None,
) -> CallResult:
    """Calls a host function in this process; called in the child only."""
    prepare()
    function: object = load_module(source)
    for part in function_name.split("."):
        function = getattr(function, part)
    tensors: dict[str, object] = {}
    given = [to_tensor(value, tensors, str(i), "cuda") for i, value in enumerate(arguments)]
    named = {name: to_tensor(value, tensors, name, "cuda") for name, value in keywords.items()}
    for index in wrt:
        given[index].requires_grad_(True)  # type: ignore[attr-defined]
    result = run(lambda: function(*given, **named))  # type: ignore[operator]
    outputs = list(result) if isinstance(result, tuple | list) else [result]
    gradients: list[np.ndarray | None] = []
    if grad_outputs is not None:
        gradients = run(lambda: backward(outputs, grad_outputs, given, wrt))  # type: ignore
    check_guards(tensors)
    return CallResult([plain(output) for output in outputs], gradients)


def backward(
    outputs: list[object],
    grad_outputs: list[np.ndarray | None],
    given: list[object],
    wrt: list[int],
) -> list[np.ndarray | None]:
    """Gradients of the tensor outputs with respect to the chosen arguments."""
    from tests.support import fake_autograd
    from tests.support.fake_tensor import Tensor, from_values

    roots = [o for o in outputs if isinstance(o, Tensor)]
    pairs = [
        (root, from_values(np.asarray(g), root.dtype, root.device))
        for root, g in zip(roots, grad_outputs, strict=False)
        if g is not None
    ]
    found = fake_autograd.grad(
        [root for root, _ in pairs],
        [given[i] for i in wrt],  # type: ignore[misc]
        [g for _, g in pairs],
        allow_unused=True,
    )
    by_index = dict(zip(wrt, found, strict=True))
    return [
        None if by_index.get(i) is None else np.array(by_index[i].values)  # type: ignore[union-attr]
        for i in range(len(given))
    ]


def run(action: object) -> object:
    """Runs kernels; whatever they raise becomes an InterpretFailure with the innermost cause."""
    try:
        return action()  # type: ignore[operator]
    except InterpretFailure:
        raise
    except Exception as error:
        inner: BaseException = error
        while inner.__cause__ is not None:
            inner = inner.__cause__
        raise InterpretFailure("run", f"{type(inner).__name__}: {inner}") from None


def to_tensor(value: object, tensors: dict[str, object], name: str, place: str = "cpu") -> object:
    """Arrays become tensors of the stand-in (noted in `tensors`), the rest stays."""
    from tests.support.fake_dtype import device, dtype_named, dtype_of_numpy, encode

    if isinstance(value, tuple):
        return tuple(to_tensor(v, tensors, f"{name}.{i}", place) for i, v in enumerate(value))
    strides = None
    if isinstance(value, Strided):
        value, strides = value.values, value.strides
    if isinstance(value, Typed):
        kind = dtype_named(TORCH_NAMES.get(value.type, value.type))
        raw = encode(value.values, kind)
    elif isinstance(value, np.ndarray):
        kind, raw = dtype_of_numpy(value.dtype), value
    else:
        return value
    strides = strides or tuple(s // raw.itemsize for s in np.asarray(raw, order="C").strides)
    tensors[name] = strided_copy(raw, strides, kind, device(place))
    return tensors[name]


def strided_copy(raw: np.ndarray, strides: tuple[int, ...], kind: object, place: object) -> object:
    """A tensor with the given strides in elements; what lies between its elements is all ones."""
    from tests.support.fake_dtype import GUARD_BYTE, UntypedStorage
    from tests.support.fake_tensor import Tensor

    span = 1 + sum((n - 1) * s for n, s in zip(raw.shape, strides, strict=True)) if raw.size else 0
    storage = UntypedStorage(span * raw.itemsize, place)  # type: ignore[arg-type]
    storage.bytes[...] = GUARD_BYTE
    out = Tensor(storage, kind, raw.shape, strides)  # type: ignore[arg-type]
    out.raw[...] = raw
    return out


def check_guards(tensors: dict[str, object]) -> None:
    """Reports a write beside an argument."""
    for name, tensor in tensors.items():
        byte = tensor.untyped_storage().written_outside()  # type: ignore[attr-defined]
        if byte is not None:
            element = byte // tensor.element_size()  # type: ignore[attr-defined]
            raise InterpretFailure(
                "outside", f"argument '{name}' was written at element {element}, outside of it"
            )


def plain(output: object) -> object:
    """Tensors as arrays."""
    from tests.support.fake_tensor import Tensor

    return np.array(output.values) if isinstance(output, Tensor) else output
