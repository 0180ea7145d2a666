"""A small stand-in for `torch` over NumPy: enough to import and run modules that launch Triton kernels.

`install()` puts it into sys.modules as `torch` with the sub-modules that launchers import.  With
`permissive=True` any other module that is missing imports as an empty shell, for third-party packages
whose kernels are wanted without their surroundings.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import math
import sys
import types
from collections.abc import Callable, Sequence
from contextlib import contextmanager, nullcontext
from functools import wraps

import numpy as np

from tests.support import fake_autograd, fake_library, fake_operations
from tests.support.fake_dtype import (
    DTYPE_ALIASES,
    DTYPES,
    UntypedStorage,
    device,
    dtype,
    dtype_of_numpy,
)
from tests.support.fake_tensor import (
    GradMode,
    Size,
    Tensor,
    empty,
    flatten_arguments,
    from_raw,
    from_values,
    grad_mode,
)

CAPABILITY = (9, 0)
_random = np.random.default_rng(0)


def default_dtype(kind: object) -> dtype:
    """float32 unless told."""
    return kind if isinstance(kind, dtype) else DTYPES["float32"]


def creator(fill: Callable[[tuple[int, ...]], np.ndarray] | None) -> Callable[..., Tensor]:
    """zeros, ones, randn, ... of a shape."""

    def create(*shape: object, size: object = None, **options: object) -> Tensor:
        extents = flatten_arguments(shape if size is None else (size,))
        kind, place = default_dtype(options.get("dtype")), device(options.get("device") or "cpu")
        out = empty(extents, kind, place)
        if fill is not None:
            out.raw[...] = from_values(fill(tuple(extents)), kind, place).raw
        return out.requires_grad_(bool(options.get("requires_grad", False)))

    return create


def creator_like(fill: Callable[[tuple[int, ...]], np.ndarray] | None) -> Callable[..., Tensor]:
    """zeros_like, ...: dense tensors keep the order of their dimensions in memory, as torch has it."""

    def create(other: Tensor, **options: object) -> Tensor:
        kind = options.get("dtype") or other.dtype
        place = device(options.get("device") or other.device)
        assert isinstance(kind, dtype)
        order = dense_order(other)
        out = empty([other.shape[a] for a in order], kind, place)
        out = out.permute(*[order.index(a) for a in range(other.ndim)])
        if fill is not None:
            out.raw[...] = from_values(fill(tuple(other.shape)), kind, place).raw
        return out.requires_grad_(bool(options.get("requires_grad", False)))

    return create


def dense_order(other: Tensor) -> list[int]:
    """The dimensions from slowest to fastest when the tensor is dense and does not overlap."""
    plain = list(range(other.ndim))
    order = sorted(plain, key=lambda a: (-int(other.stride(a)), a))  # type: ignore[arg-type]
    expected = 1
    for axis in reversed(order):
        if other.shape[axis] != 1 and other.stride(axis) != expected:
            return plain
        expected *= other.shape[axis]
    return order


def ones(shape: tuple[int, ...]) -> np.ndarray:
    """NumPy's ones."""
    return np.ones(shape)


def full(size: Sequence[int], fill_value: float, **options: object) -> Tensor:
    """A filled tensor; its dtype follows the value."""
    kind = options.get("dtype") or dtype_of_numpy(
        np.dtype(np.float32 if isinstance(fill_value, float) else np.asarray(fill_value).dtype)
    )
    return creator(lambda shape: np.full(shape, fill_value))(size, **{**options, "dtype": kind})


def tensor(data: object, **options: object) -> Tensor:
    """A tensor of given data."""
    values = np.asarray(data.values if isinstance(data, Tensor) else data)
    kind = options.get("dtype")
    if kind is None:
        kind = DTYPES["float32"] if values.dtype == np.float64 else dtype_of_numpy(values.dtype)
    assert isinstance(kind, dtype)
    out = from_values(values, kind, device(options.get("device") or "cpu"))
    return out.requires_grad_(bool(options.get("requires_grad", False)))


def from_numpy(array: np.ndarray) -> Tensor:
    """A copy of an array with its dtype."""
    return from_raw(np.asarray(array), dtype_of_numpy(array.dtype), device())


def arange(*bounds: float, **options: object) -> Tensor:
    """Evenly spaced numbers."""
    values = np.arange(*bounds)
    kind = options.get("dtype")
    if kind is None:
        floating = np.issubdtype(values.dtype, np.floating)
        kind = DTYPES["float32" if floating else "int64"]
    assert isinstance(kind, dtype)
    return from_values(values, kind, device(options.get("device") or "cpu"))


def linspace(start: float, end: float, steps: int, **options: object) -> Tensor:
    """Evenly spaced numbers, both ends included."""
    place = device(options.get("device") or "cpu")
    return from_values(np.linspace(start, end, steps), default_dtype(options.get("dtype")), place)


def randint(low: int, high: object = None, size: object = None, **options: object) -> Tensor:
    """Random integers."""
    if size is None:
        low, high, size = 0, low, high
    kind = options.get("dtype") or DTYPES["int64"]
    assert isinstance(kind, dtype)
    values = _random.integers(low, int(high), tuple(size))  # type: ignore[call-overload,arg-type]
    return from_values(values, kind, device(options.get("device") or "cpu"))


def eye(n: int, m: int | None = None, **options: object) -> Tensor:
    """The identity."""
    place = device(options.get("device") or "cpu")
    return from_values(np.eye(n, m), default_dtype(options.get("dtype")), place)


def manual_seed(seed: int) -> None:
    """Restarts the random numbers."""
    global _random
    _random = np.random.default_rng(seed)


def triangle(name: str) -> Callable[..., Tensor]:
    """tril and triu."""

    def operation(x: Tensor, diagonal: int = 0) -> Tensor:
        return from_values(getattr(np, name)(x.values, diagonal), x.dtype, x.device)

    return operation


def einsum(equation: str, *operands: Tensor) -> Tensor:
    """Einstein's sum, outside of the tape."""
    values = [t.values.astype(np.float64) for t in operands]
    return from_values(np.einsum(equation, *values), operands[0].dtype, operands[0].device)


class _FloatInfo:
    """torch.finfo."""

    def __init__(self, kind: dtype | None = None) -> None:
        name = (kind or DTYPES["float32"]).name
        if name == "bfloat16":
            self.max, self.eps, self.tiny, self.bits = 3.3895313892515355e38, 2.0**-7, 2.0**-126, 16
        else:
            info = np.finfo((kind or DTYPES["float32"]).raw)
            self.max, self.eps = float(info.max), float(info.eps)
            self.tiny, self.bits = float(info.tiny), info.bits
        self.min = -self.max
        self.smallest_normal = self.tiny


class _IntegerInfo:
    """torch.iinfo."""

    def __init__(self, kind: dtype) -> None:
        info = np.iinfo(kind.raw)
        self.min, self.max, self.bits = int(info.min), int(info.max), info.bits


class _GradSwitch:
    """no_grad and enable_grad: context manager and decorator."""

    wanted = False

    def __init__(self, function: Callable[..., object] | None = None) -> None:
        self.function = function
        self.before = True

    def __call__(self, *arguments: object, **keywords: object) -> object:
        if self.function is None:
            function = arguments[0]
            assert callable(function)
            return type(self)(function)
        with type(self)():
            return self.function(*arguments, **keywords)

    def __get__(self, instance: object, owner: object = None) -> object:
        return self if instance is None else types.MethodType(self, instance)

    def __enter__(self) -> None:
        self.before, GradMode.enabled = GradMode.enabled, self.wanted

    def __exit__(self, *exception: object) -> None:
        GradMode.enabled = self.before


class no_grad(_GradSwitch):
    """Nothing is recorded."""


class inference_mode(_GradSwitch):
    """Nothing is recorded."""


class enable_grad(_GradSwitch):
    """Recording again."""

    wanted = True


def decorator_with_options(*arguments: object, **options: object) -> object:
    """custom_fwd, compile, jit.script: a decorator that changes nothing, with or without options."""
    if len(arguments) == 1 and callable(arguments[0]) and not options:
        return arguments[0]
    return lambda function: function


class Module:
    """torch.nn.Module: parameters, sub-modules and a call."""

    __module__ = "torch.nn"

    def __init__(self) -> None:
        self.training = True

    def __call__(self, *arguments: object, **keywords: object) -> object:
        return self.forward(*arguments, **keywords)  # type: ignore[attr-defined]

    def named_parameters(self, prefix: str = "") -> list[tuple[str, Tensor]]:
        """Every parameter with its dotted name."""
        out: list[tuple[str, Tensor]] = []
        for name, value in vars(self).items():
            if isinstance(value, Tensor) and value.requires_grad and value.is_leaf:
                out.append((prefix + name, value))
            elif isinstance(value, Module):
                out += value.named_parameters(f"{prefix}{name}.")
        return out

    def parameters(self) -> list[Tensor]:
        """Every parameter."""
        return [value for _, value in self.named_parameters()]

    def register_buffer(self, name: str, value: object, persistent: bool = True) -> None:
        """An attribute that is no parameter."""
        setattr(self, name, value)

    def register_parameter(self, name: str, value: object) -> None:
        """An attribute that is a parameter."""
        setattr(self, name, value)

    def train(self, mode: bool = True) -> Module:
        """Training mode."""
        self.training = mode
        return self

    def eval(self) -> Module:
        """Evaluation mode."""
        return self.train(False)

    def to(self, *arguments: object, **keywords: object) -> Module:
        """Itself."""
        return self

    cuda = to


def parameter(data: Tensor, requires_grad: bool = True) -> Tensor:
    """torch.nn.Parameter."""
    return data.detach().requires_grad_(requires_grad)


class Event:
    """A CUDA event that measures nothing."""

    def __init__(self, **options: object) -> None:
        self.options = options

    def record(self, stream: object = None) -> None:
        """Nothing to wait for."""

    def synchronize(self) -> None:
        """Nothing to wait for."""

    def elapsed_time(self, other: Event) -> float:
        """Always zero."""
        return 0.0


class DeviceProperties:
    """What launchers ask of a card."""

    name = "stand-in"
    major, minor = CAPABILITY
    multi_processor_count = 4
    total_memory = 1 << 34
    warp_size = 32
    max_shared_memory_per_multiprocessor = 228 * 1024
    shared_memory_per_block_optin = 227 * 1024


@contextmanager
def nothing(*arguments: object, **keywords: object):  # noqa: ANN201
    """A context without effect."""
    yield


def module(name: str, **members: object) -> types.ModuleType:
    """A module with members, entered in sys.modules."""
    out = TorchModule(name)
    out.__path__ = []  # type: ignore[attr-defined]
    out.__spec__ = importlib.machinery.ModuleSpec(name, None, is_package=True)
    for key, value in members.items():
        setattr(out, key, value)
    sys.modules[name] = out
    return out


class TorchModule(types.ModuleType):
    """A module whose missing names are shells in permissive mode, else an AttributeError."""

    def __getattr__(self, name: str) -> object:
        if _permissive and not (name.startswith("__") and name.endswith("__")):
            return Shell(f"{self.__name__}.{name}")
        raise AttributeError(f"the stand-in for torch has no '{self.__name__}.{name}'")


_permissive = False


def install(permissive: bool = False) -> types.ModuleType:
    """Makes `import torch` give the stand-in; a second call changes nothing but the mode."""
    global _permissive
    _permissive = _permissive or permissive
    if permissive and not any(isinstance(f, ShellFinder) for f in sys.meta_path):
        sys.meta_path.append(ShellFinder())
    existing = sys.modules.get("torch")
    if existing is not None:
        if not isinstance(existing, TorchModule):
            raise RuntimeError("the real torch is already imported")
        return existing
    torch = module("torch", **torch_members())
    for name, members in submodules().items():
        child = module(f"torch.{name}", **members)
        parent, _, last = f"torch.{name}".rpartition(".")
        setattr(sys.modules[parent], last, child)
    return torch


def torch_members() -> dict[str, object]:
    """The names of the torch module itself."""
    members: dict[str, object] = dict(fake_operations.FUNCTIONS)
    members.update(DTYPES)
    members.update({alias: DTYPES[name] for alias, name in DTYPE_ALIASES.items()})
    # Shape functions are methods called with the tensor first.
    for name in ("reshape", "permute", "transpose", "squeeze", "unsqueeze", "flatten", "clone",
                 "split", "chunk", "unbind", "narrow", "numel", "t", "movedim", "ravel", "detach",
                 "is_floating_point", "select"):  # fmt: skip
        members[name] = getattr(Tensor, name)
    kinds: dict[str, Callable[[tuple[int, ...]], np.ndarray] | None] = {
        "empty": None,
        "zeros": np.zeros,
        "ones": ones,
        "rand": lambda shape: _random.random(shape),
        "randn": lambda shape: _random.standard_normal(shape),
    }
    for name, fill in kinds.items():
        members[name] = creator(fill)
        members[f"{name}_like"] = creator_like(fill)
    members.update(
        Tensor=Tensor, Size=Size, dtype=dtype, device=device, full=full, tensor=tensor,
        as_tensor=tensor, arange=arange, linspace=linspace, randint=randint, eye=eye,
        from_numpy=from_numpy, manual_seed=manual_seed, einsum=einsum, tril=triangle("tril"),
        triu=triangle("triu"), finfo=_FloatInfo, iinfo=_IntegerInfo, no_grad=no_grad,
        enable_grad=enable_grad, inference_mode=inference_mode, set_grad_enabled=grad_mode,
        is_grad_enabled=lambda: GradMode.enabled, is_tensor=lambda x: isinstance(x, Tensor),
        full_like=lambda x, value, **o: creator_like(lambda s: np.full(s, value))(x, **o),
        broadcast_to=lambda x, shape: x.expand(shape), UntypedStorage=UntypedStorage,
        empty_strided=empty_strided, inf=math.inf, nan=math.nan, pi=math.pi, strided="strided",
        contiguous_format="contiguous", preserve_format="preserve", __version__="2.9.0",
        compile=decorator_with_options, promote_types=fake_operations_promote, LongTensor=Tensor,
        FloatTensor=Tensor, BoolTensor=Tensor, IntTensor=Tensor, Generator=object,
        get_default_dtype=lambda: DTYPES["float32"], is_autocast_enabled=lambda *a: False,
        get_autocast_gpu_dtype=lambda: DTYPES["float16"], _assert_async=assert_async,
    )  # fmt: skip
    return members


def assert_async(condition: Tensor, said: str) -> None:
    """An error at once, where PyTorch's comes with the next wait."""
    if not condition.values.all():
        raise RuntimeError(said)


def empty_strided(size: Sequence[int], stride: Sequence[int], **options: object) -> Tensor:
    """An uninitialised tensor of given strides."""
    kind, place = default_dtype(options.get("dtype")), device(options.get("device") or "cpu")
    span = 1 + sum((n - 1) * s for n, s in zip(size, stride, strict=True))
    return empty([max(span, 0)], kind, place).as_strided(size, stride, 0)


def fake_operations_promote(left: dtype, right: dtype) -> dtype:
    """torch.promote_types."""
    from tests.support.fake_tensor import promote_dtypes

    return promote_dtypes(left, right)


def submodules() -> dict[str, dict[str, object]]:
    """Members of torch's sub-modules, parents first."""
    custom = {"custom_fwd": decorator_with_options, "custom_bwd": decorator_with_options}
    autocast = {"autocast": lambda *a, **k: nullcontext(), **custom}
    functional = {
        name: fake_operations.FUNCTIONS[name]
        for name in (
            "softmax",
            "log_softmax",
            "silu",
            "relu",
            "gelu",
            "sigmoid",
            "tanh",
            "softplus",
        )
    }
    cuda = {
        "is_available": lambda: True, "device_count": lambda: 1, "current_device": lambda: 0,
        "device": nothing, "synchronize": lambda *a: None, "Event": Event, "stream": nothing,
        "get_device_capability": lambda *a: CAPABILITY, "set_device": lambda *a: None,
        "get_device_properties": lambda *a: DeviceProperties(), "empty_cache": lambda: None,
        "get_device_name": lambda *a: DeviceProperties.name, "is_bf16_supported": lambda *a: True,
        "device_of": nothing, "current_stream": lambda *a: types.SimpleNamespace(cuda_stream=0),
    }  # fmt: skip
    function = fake_autograd.Function
    return {
        "version": {"cuda": "13.0", "hip": None, "xpu": None},
        "cuda": cuda,
        "cuda.amp": autocast,
        "amp": autocast,
        "autograd": {"Function": function, "grad": fake_autograd.grad},
        "autograd.forward_ad": {"_current_level": -1},
        "autograd.function": {
            "Function": function,
            "FunctionCtx": fake_autograd.FunctionContext,
            "once_differentiable": fake_autograd.once_differentiable,
        },
        "nn": {"Module": Module, "Parameter": parameter},
        "nn.functional": functional,
        "nn.parameter": {"Parameter": parameter},
        "nn.modules": {"Module": Module},
        "jit": {"script": decorator_with_options, "ignore": decorator_with_options},
        "backends": {},
        "backends.cuda": {"matmul": types.SimpleNamespace(allow_tf32=False)},
        "backends.cudnn": {"allow_tf32": False},
        "library": {"custom_op": library_operator, "triton_op": fake_library.triton_op,
                    "register_autograd": lambda *a, **k: None,
                    "wrap_triton": lambda kernel: kernel},
        "testing": {"assert_close": assert_close},
        "distributed": {"is_available": lambda: False, "is_initialized": lambda: False},
        "utils": {},
    }  # fmt: skip


def library_operator(name: str, *arguments: object, **options: object) -> object:
    """torch.library.custom_op: the function itself with the registration hooks as no-operations."""

    def decorate(function: Callable[..., object]) -> Callable[..., object]:
        @wraps(function)
        def call(*inputs: object, **keywords: object) -> object:
            return function(*inputs, **keywords)

        for hook in ("register_fake", "register_autograd", "register_kernel"):
            setattr(call, hook, decorator_with_options)
        return call

    return decorate


def assert_close(
    actual: Tensor, expected: Tensor, rtol: float = 1e-5, atol: float = 1e-6, **_: object
) -> None:
    """torch.testing.assert_close."""
    np.testing.assert_allclose(actual.values, expected.values, rtol=rtol, atol=atol)


# ---- shells of missing modules -------------------------------------------------------------------


class ShellMeta(type):
    """Shell classes answer every attribute, so that they can stand as base classes and enums."""

    def __getattr__(cls, name: str) -> object:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return Shell(f"{cls.__name__}.{name}")


class Shell(metaclass=ShellMeta):
    """Stands for anything of a missing module: callable, subclassable, a decorator, a context."""

    def __init__(self, *arguments: object, **keywords: object) -> None:
        self._name = str(arguments[0]) if arguments else "shell"

    def __call__(self, *arguments: object, **keywords: object) -> object:
        if len(arguments) == 1 and not keywords and isinstance(arguments[0], types.FunctionType):
            return arguments[0]
        return Shell(f"{self._name}()")

    def __getattr__(self, name: str) -> object:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return Shell(f"{self.__dict__.get('_name', 'shell')}.{name}")

    def __mro_entries__(self, bases: tuple[object, ...]) -> tuple[type, ...]:
        return (Shell,)

    def __getitem__(self, index: object) -> object:
        return Shell(f"{self._name}[]")

    def __iter__(self):  # noqa: ANN204
        return iter(())

    def __enter__(self) -> Shell:
        return self

    def __exit__(self, *exception: object) -> None:
        return None

    def __bool__(self) -> bool:
        return False

    def __int__(self) -> int:
        return 0

    def __index__(self) -> int:
        return 0

    def __or__(self, other: object) -> object:
        return self

    __ror__ = __or__

    def __lt__(self, other: object) -> bool:
        return False

    __gt__ = __le__ = __ge__ = __lt__

    def __repr__(self) -> str:
        return f"<shell {self._name}>"


class ShellFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds what nobody else found: a module of shells.  `triton` itself is never one."""

    def find_spec(
        self, name: str, path: object = None, target: object = None
    ) -> importlib.machinery.ModuleSpec | None:
        """A spec for any missing module outside of this repository, Triton and NumPy."""
        if name.partition(".")[0] in {"triton", "tests", "numpy"}:
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        """A module that answers every name."""
        return ShellModule(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        """Nothing to run."""


class ShellModule(types.ModuleType):
    """A missing module: every name in it is a shell."""

    def __getattr__(self, name: str) -> object:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return Shell(f"{self.__name__}.{name}")
