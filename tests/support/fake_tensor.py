"""Tensors of the stand-in for torch: strided views of a storage, arithmetic, and a small tape.

Values are computed with NumPy in the tensor's own precision (bfloat16 and float8 in float32, then
rounded).  Operations that have a derivative record a `Node`; `backward` walks the nodes in reverse.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from tests.support.fake_dtype import (
    DTYPES,
    UntypedStorage,
    decode,
    device,
    dtype,
    dtype_of_numpy,
    encode,
)

Gradient = Callable[["Tensor"], Sequence["Tensor | None"]]


class GradMode:
    """Whether operations are recorded."""

    enabled = True


@contextmanager
def grad_mode(enabled: bool) -> Iterator[None]:
    """Switches recording for a block."""
    before, GradMode.enabled = GradMode.enabled, enabled
    try:
        yield
    finally:
        GradMode.enabled = before


class AccumulateGrad:
    """Where the gradient of a leaf goes."""

    next_functions: tuple = ()


class Node:
    """One recorded operation: its tensor inputs and how output gradients become input gradients."""

    def __init__(
        self, name: str, inputs: Sequence[object], gradient: Callable[..., Sequence[object]]
    ) -> None:
        self.name = name
        self.inputs = list(inputs)
        self.gradient = gradient
        self.outputs = 1

    @property
    def next_functions(self) -> tuple:
        """The nodes that the inputs' gradients go to, None for an input without one."""
        tensors = [each for each in self.inputs if isinstance(each, Tensor)]
        return tuple(
            (each.grad_fn or (AccumulateGrad() if each.requires_grad else None), each.output_index)
            for each in tensors
        )

    def __repr__(self) -> str:
        return f"<{self.name}Backward>"


class Tensor:
    """A strided view of a storage."""

    __module__ = "torch"
    __array_priority__ = 1000

    def __init__(
        self,
        storage: UntypedStorage,
        kind: dtype,
        shape: Sequence[int],
        strides: Sequence[int],
        offset: int = 0,
        place: device | None = None,
    ) -> None:
        self._storage = storage
        self.dtype = kind
        self.shape = Size(shape)
        self._strides = tuple(int(s) for s in strides)
        self._offset = int(offset)
        self.device = place or storage.device
        self._requires_grad = False
        self.grad: Tensor | None = None
        self.grad_fn: Node | None = None
        self.output_index = 0
        self._retains_grad = False

    # -- what it is

    @property
    def raw(self) -> np.ndarray:
        """The stored bits as a writable NumPy view of the storage."""
        flat = self._storage.typed(self.dtype)[self._offset :]
        steps = [s * self.dtype.itemsize for s in self._strides]
        return np.lib.stride_tricks.as_strided(flat, tuple(self.shape), steps)

    @property
    def values(self) -> np.ndarray:
        """The elements as numbers (float32 for bfloat16 and float8)."""
        return decode(self.raw, self.dtype)

    @property
    def requires_grad(self) -> bool:
        """Whether a gradient flows to or through this tensor."""
        return self._requires_grad or self.grad_fn is not None

    @requires_grad.setter
    def requires_grad(self, wanted: bool) -> None:
        self.requires_grad_(wanted)

    @property
    def ndim(self) -> int:
        """The rank."""
        return len(self.shape)

    @property
    def is_leaf(self) -> bool:
        """Whether no recorded operation made it."""
        return self.grad_fn is None

    @property
    def retains_grad(self) -> bool:
        """Nobody asks this torch for the gradients of what is computed."""
        return False

    @property
    def is_cuda(self) -> bool:
        """Whether its device says cuda."""
        return self.device.type == "cuda"

    @property
    def is_cpu(self) -> bool:
        """Whether its device says cpu."""
        return self.device.type == "cpu"

    @property
    def itemsize(self) -> int:
        """Bytes per element."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.numel() * self.itemsize

    @property
    def data(self) -> Tensor:
        """The same elements outside of the tape."""
        return self.detach()

    @data.setter
    def data(self, other: Tensor) -> None:
        self._storage, self._strides, self._offset = other._storage, other._strides, other._offset
        self.shape, self.dtype, self.device = other.shape, other.dtype, other.device

    @property
    def _version(self) -> int:
        return self._storage.version

    @property
    def T(self) -> Tensor:
        """All dimensions reversed."""
        return self.permute(*reversed(range(self.ndim)))

    @property
    def mT(self) -> Tensor:
        """The last two dimensions swapped."""
        return self.transpose(-2, -1)

    layout = "strided"
    is_sparse = False
    is_quantized = False
    is_meta = False
    is_nested = False
    names: tuple[str, ...] = ()

    def dim(self) -> int:
        """The rank."""
        return len(self.shape)

    ndimension = dim

    def size(self, axis: int | None = None) -> Size | int:
        """The shape, or one extent."""
        return self.shape if axis is None else self.shape[axis]

    def stride(self, axis: int | None = None) -> tuple[int, ...] | int:
        """The strides in elements, or one of them."""
        return self._strides if axis is None else self._strides[axis]

    def numel(self) -> int:
        """How many elements."""
        return math.prod(self.shape)

    nelement = numel

    def element_size(self) -> int:
        """Bytes per element."""
        return self.dtype.itemsize

    def storage_offset(self) -> int:
        """Elements before the first one."""
        return self._offset

    def untyped_storage(self) -> UntypedStorage:
        """The bytes behind it."""
        return self._storage

    storage = untyped_storage

    def data_ptr(self) -> int:
        """Address of the first element."""
        return self._storage.data_ptr() + self._offset * self.dtype.itemsize

    def is_floating_point(self) -> bool:
        """Whether its elements are floats."""
        return self.dtype.is_floating_point

    def is_complex(self) -> bool:
        """Never."""
        return False

    def is_contiguous(self, memory_format: object = None) -> bool:
        """Whether it is laid out in row-major order without gaps."""
        expected = 1
        for extent, step in zip(reversed(self.shape), reversed(self._strides), strict=True):
            if extent != 1 and step != expected:
                return False
            expected *= extent
        return True

    def get_device(self) -> int:
        """The device's index, -1 on the CPU."""
        return self.device.index if self.device.index is not None else -1

    def __len__(self) -> int:
        return self.shape[0]

    def __iter__(self) -> Iterator[Tensor]:
        return (self[i] for i in range(self.shape[0]))

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self) -> str:
        suffix = "" if self.dtype.name == "float32" else f", dtype={self.dtype}"
        return f"tensor({self.values!r}{suffix})"

    def __bool__(self) -> bool:
        return bool(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __float__(self) -> float:
        return float(self.item())

    def __index__(self) -> int:
        return int(self.item())

    def __array__(self, dtype: object = None, copy: object = None) -> np.ndarray:
        return np.array(self.values, dtype=dtype)  # type: ignore[arg-type]

    def item(self) -> float | int | bool:
        """Its only element."""
        if self.numel() != 1:
            raise RuntimeError(f"a Tensor with {self.numel()} elements cannot be a scalar")
        return self.values.reshape(()).item()

    def tolist(self) -> object:
        """Nested lists of its elements."""
        return self.values.tolist()

    def numpy(self) -> np.ndarray:
        """Its raw view; bfloat16 has none."""
        if self.dtype.raw != self.dtype.value:
            raise TypeError(f"Got unsupported ScalarType {self.dtype.name}")
        return self.raw

    # -- views

    def view_as_strided(self, shape: Sequence[int], strides: Sequence[int], offset: int) -> Tensor:
        """A view of the same storage, outside of the tape."""
        return Tensor(self._storage, self.dtype, shape, strides, offset, self.device)

    def as_strided(
        self, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None
    ) -> Tensor:
        """A view with given strides; it has no recorded gradient."""
        start = self._offset if storage_offset is None else storage_offset
        return self.view_as_strided(size, stride, start)

    def view_of_array(self, array: np.ndarray) -> Tensor:
        """The view that a NumPy view of `raw` denotes."""
        offset = (array.__array_interface__["data"][0] - self._storage.data_ptr()) // self.itemsize
        strides = [s // self.itemsize for s in array.strides]
        return self.view_as_strided(array.shape, strides, offset)

    def set_(
        self, storage: UntypedStorage, offset: int, size: Sequence[int], stride: Sequence[int]
    ) -> Tensor:
        """Becomes another view."""
        self._storage, self._offset = storage, offset
        self.shape, self._strides = Size(size), tuple(stride)
        return self

    def view(self, *shape: object) -> Tensor:
        """Another shape of the same memory; an error where that needs a copy."""
        if len(shape) == 1 and isinstance(shape[0], dtype):
            return self.view_as_dtype(shape[0])
        target = infer_shape(flatten_arguments(shape), self.numel())
        strides = view_strides(self.shape, self._strides, target)
        if strides is None:
            raise RuntimeError(
                "view size is not compatible with input tensor's size and stride (at least one "
                "dimension spans across two contiguous subspaces). Use .reshape(...) instead."
            )
        out = self.view_as_strided(target, strides, self._offset)
        return record("View", out, [self], lambda g: (g.reshape(self.shape),))

    def view_as_dtype(self, kind: dtype) -> Tensor:
        """The same bits as another type, of one width."""
        if kind.itemsize != self.itemsize and self.ndim and self._strides[-1] != 1:
            raise RuntimeError("self.stride(-1) must be 1 to view with different element sizes")
        scale = self.itemsize / kind.itemsize
        shape = [*self.shape[:-1], int(self.shape[-1] * scale)] if self.ndim else []
        strides = [*(int(s * scale) for s in self._strides[:-1]), 1] if self.ndim else []
        offset = int(self._offset * scale)
        return Tensor(self._storage, kind, shape, strides, offset, self.device)

    def reshape(self, *shape: object) -> Tensor:
        """Another shape; a view where possible."""
        target = infer_shape(flatten_arguments(shape), self.numel())
        if view_strides(self.shape, self._strides, target) is not None:
            return self.view(*target)
        return self.contiguous().view(*target)

    def reshape_as(self, other: Tensor) -> Tensor:
        """The shape of another tensor."""
        return self.reshape(other.shape)

    view_as = reshape_as

    def flatten(self, start_dim: int = 0, end_dim: int = -1) -> Tensor:
        """Merges a range of dimensions."""
        first, last = start_dim % max(self.ndim, 1), end_dim % max(self.ndim, 1)
        merged = math.prod(self.shape[first : last + 1])
        return self.reshape(*self.shape[:first], merged, *self.shape[last + 1 :])

    def unflatten(self, axis: int, sizes: Sequence[int]) -> Tensor:
        """Splits one dimension."""
        axis %= self.ndim
        return self.view(*self.shape[:axis], *sizes, *self.shape[axis + 1 :])

    def ravel(self) -> Tensor:
        """One dimension."""
        return self.reshape(-1)

    def permute(self, *order: object) -> Tensor:
        """Reordered dimensions."""
        axes = [axis % self.ndim for axis in flatten_arguments(order)]
        out = self.view_as_strided(
            [self.shape[a] for a in axes], [self._strides[a] for a in axes], self._offset
        )
        inverse = [axes.index(a) for a in range(self.ndim)]
        return record("Permute", out, [self], lambda g: (g.permute(*inverse),))

    def transpose(self, first: int, second: int) -> Tensor:
        """Two dimensions swapped."""
        axes = list(range(self.ndim))
        axes[first], axes[second] = axes[second], axes[first]
        return self.permute(*axes)

    swapaxes = transpose

    def t(self) -> Tensor:
        """A matrix transposed."""
        return self.transpose(0, 1) if self.ndim == 2 else self

    def movedim(self, source: int, destination: int) -> Tensor:
        """One dimension elsewhere."""
        axes = [a for a in range(self.ndim) if a != source % self.ndim]
        axes.insert(destination % self.ndim, source % self.ndim)
        return self.permute(*axes)

    def unsqueeze(self, axis: int) -> Tensor:
        """A dimension of one."""
        axis %= self.ndim + 1
        return self.view(*self.shape[:axis], 1, *self.shape[axis:])

    def squeeze(self, axis: int | None = None) -> Tensor:
        """Without dimensions of one."""
        axes = range(self.ndim) if axis is None else [axis % self.ndim]
        return self.view(*(n for i, n in enumerate(self.shape) if n != 1 or i not in axes))

    def expand(self, *shape: object) -> Tensor:
        """Dimensions of one repeated without memory."""
        target = flatten_arguments(shape)
        lead = len(target) - self.ndim
        extents, strides = [], []
        for i, wanted in enumerate(target):
            have = self.shape[i - lead] if i >= lead else 1
            step = self._strides[i - lead] if i >= lead else 0
            extent = have if wanted == -1 else wanted
            if have not in (1, extent):
                raise RuntimeError(f"cannot expand {tuple(self.shape)} to {tuple(target)}")
            extents.append(extent)
            strides.append(step if have == extent else 0)
        out = self.view_as_strided(extents, strides, self._offset)
        return record("Expand", out, [self], lambda g: (sum_to(g, self.shape),))

    def expand_as(self, other: Tensor) -> Tensor:
        """Expanded to another's shape."""
        return self.expand(*other.shape)

    def narrow(self, axis: int, start: int, length: int) -> Tensor:
        """A range of one dimension."""
        index = [slice(None)] * (axis % self.ndim) + [slice(start, start + length)]
        return self[tuple(index)]

    def select(self, axis: int, index: int) -> Tensor:
        """One index of one dimension."""
        return self[(slice(None),) * (axis % self.ndim) + (index,)]

    def unbind(self, axis: int = 0) -> tuple[Tensor, ...]:
        """All indices of one dimension."""
        return tuple(self.select(axis, i) for i in range(self.shape[axis]))

    def chunk(self, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
        """Equal ranges of one dimension."""
        return self.split(-(-self.shape[dim] // chunks), dim)

    def split(self, sizes: int | Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
        """Ranges of one dimension."""
        extent = self.shape[dim]
        if isinstance(sizes, int):
            sizes = [min(sizes, extent - i) for i in range(0, extent, sizes)]
        starts = np.cumsum([0, *sizes])
        return tuple(self.narrow(dim, int(s), n) for s, n in zip(starts[:-1], sizes, strict=True))

    def __getitem__(self, index: object) -> Tensor:
        index = numpy_index(index)
        picked = self.raw[index]
        if isinstance(picked, np.ndarray) and np.shares_memory(picked, self._storage.bytes):
            out = self.view_of_array(picked)
        elif is_basic(index):
            out = self.view_of_array(
                self.raw[index if index is Ellipsis else (*as_tuple(index), ...)]
            )
        else:
            out = from_raw(np.asarray(picked), self.dtype, self.device)

        def gradient(g: Tensor) -> list[Tensor | None]:
            full = np.zeros(tuple(self.shape), dtype=g.dtype.value)
            np.add.at(full, index, g.values)
            return [from_values(full, g.dtype, g.device)]

        return record("Index", out, [self], gradient)

    def __setitem__(self, index: object, value: object) -> None:
        self.check_in_place()
        values = value.values if isinstance(value, Tensor) else np.asarray(value)
        self.raw[numpy_index(index)] = encode(values, self.dtype)
        self._storage.version += 1

    # -- copies and conversions

    def contiguous(self, memory_format: object = None) -> Tensor:
        """Itself, or a row-major copy."""
        return self if self.is_contiguous() else self.clone()

    def clone(self, memory_format: object = None) -> Tensor:
        """A row-major copy."""
        out = from_raw(self.raw, self.dtype, self.device)
        return record("Clone", out, [self], lambda g: (g,))

    def _is_view(self) -> bool:
        """The tape of the stand-in knows no views: what is written to one is not seen in its base."""
        return False

    @property
    def _base(self) -> Tensor | None:
        """The first tensor of this memory on the tape."""
        base, node = None, self.grad_fn
        while node and isinstance(node.inputs[0], Tensor):
            if node.inputs[0]._storage is not self._storage:
                break
            base = node.inputs[0]
            node = base.grad_fn
        return base

    def detach(self) -> Tensor:
        """The same memory outside of the tape."""
        return self.view_as_strided(self.shape, self._strides, self._offset)

    def detach_(self) -> Tensor:
        """Leaves the tape."""
        self.grad_fn, self._requires_grad = None, False
        return self

    def to(self, *arguments: object, **keywords: object) -> Tensor:
        """Another dtype or device; itself when both are as asked."""
        kind, place, copy = self.dtype, self.device, bool(keywords.get("copy", False))
        for argument in (*arguments, keywords.get("dtype"), keywords.get("device")):
            if isinstance(argument, dtype):
                kind = argument
            elif isinstance(argument, Tensor):
                kind, place = argument.dtype, argument.device
            elif isinstance(argument, str | device):
                place = device(argument)
        if kind is self.dtype and place == self.device and not copy:
            return self
        out = from_values(self.values, kind, place)
        if not kind.is_floating_point:
            return out
        own_kind, own_place = self.dtype, self.device
        return record("To", out, [self], lambda g: (g.to(own_kind).to(own_place),))

    def type(self, kind: dtype | None = None) -> object:
        """Another dtype, or the name of its own."""
        return f"torch.{self.dtype.name}" if kind is None else self.to(kind)

    def type_as(self, other: Tensor) -> Tensor:
        """The dtype of another tensor."""
        return self.to(other.dtype)

    def cpu(self) -> Tensor:
        """On the CPU."""
        return self.to("cpu")

    def cuda(self, index: object = None, non_blocking: bool = False) -> Tensor:
        """On a device called cuda."""
        return self.to(device("cuda", index if isinstance(index, int) else 0))

    def copy_(self, other: Tensor, non_blocking: bool = False) -> Tensor:
        """Takes over another's values."""
        self.check_in_place()
        self.raw[...] = encode(np.broadcast_to(other.values, tuple(self.shape)), self.dtype)
        self._storage.version += 1
        return self

    def fill_(self, value: float) -> Tensor:
        """Sets every element."""
        self.check_in_place()
        self.raw[...] = encode(np.asarray(value), self.dtype)
        self._storage.version += 1
        return self

    def zero_(self) -> Tensor:
        """Sets every element to zero."""
        return self.fill_(0)

    def new_empty(self, *shape: object, **options: object) -> Tensor:
        """An uninitialised tensor of this dtype and device unless told otherwise."""
        kind = options.get("dtype") or self.dtype
        place = options.get("device") or self.device
        return empty(flatten_arguments(shape), kind, device(place))  # type: ignore[arg-type]

    def new_empty_strided(
        self, size: Sequence[int], stride: Sequence[int], **options: object
    ) -> Tensor:
        """Uninitialised with given strides, dtype and device from this one."""
        last = sum((n - 1) * s for n, s in zip(size, stride, strict=True))
        extent = 0 if 0 in tuple(size) else 1 + last
        return self.new_empty([extent], **options).as_strided(size, stride, 0)

    def new_zeros(self, *shape: object, **options: object) -> Tensor:
        """A zero tensor of this dtype and device unless told otherwise."""
        return self.new_empty(*shape, **options).zero_()

    def new_ones(self, *shape: object, **options: object) -> Tensor:
        """A tensor of ones of this dtype and device unless told otherwise."""
        return self.new_empty(*shape, **options).fill_(1)

    def new_full(self, shape: Sequence[int], value: float, **options: object) -> Tensor:
        """A filled tensor of this dtype and device unless told otherwise."""
        return self.new_empty(*shape, **options).fill_(value)

    def new_tensor(self, data: object, **options: object) -> Tensor:
        """New data of this dtype and device."""
        return from_values(np.asarray(data), self.dtype, self.device)

    # -- the tape

    def requires_grad_(self, wanted: bool = True) -> Tensor:
        """Asks for a gradient."""
        if wanted and not self.dtype.is_floating_point:
            raise RuntimeError("only Tensors of floating point dtype can require gradients")
        self._requires_grad = wanted
        return self

    def retain_grad(self) -> None:
        """Keeps the gradient of an inner tensor."""
        self._retains_grad = True

    def check_in_place(self) -> None:
        """An in-place write to a leaf that wants a gradient is an error while recording."""
        if GradMode.enabled and self._requires_grad and self.grad_fn is None:
            raise RuntimeError(
                "a leaf Variable that requires grad is being used in an in-place operation."
            )

    def backward(self, gradient: Tensor | None = None, retain_graph: bool = False) -> None:
        """Adds to `.grad` of every leaf that this tensor depends on."""
        from tests.support.fake_autograd import run_backward

        run_backward([self], [gradient], accumulate=True)


class Size(tuple):
    """A shape."""

    __module__ = "torch"

    def __new__(cls, extents: Sequence[int] = ()) -> Size:
        return super().__new__(cls, (int(n) for n in extents))

    def numel(self) -> int:
        """How many elements."""
        return math.prod(self)

    def __getitem__(self, index: object) -> object:
        out = super().__getitem__(index)  # type: ignore[index]
        return Size(out) if isinstance(index, slice) else out

    def __repr__(self) -> str:
        return f"torch.Size({list(self)})"


def snapshot(tensor: Tensor) -> Tensor:
    """An alias that keeps the tape position a tensor has now: later writes in place move the tensor on."""
    if tensor.grad_fn is None and tensor.requires_grad:
        return tensor
    alias = tensor.detach()
    alias.grad_fn, alias.output_index = tensor.grad_fn, tensor.output_index
    alias._retains_grad = tensor._retains_grad
    return alias


def record(name: str, out: Tensor, inputs: Sequence[Tensor], gradient: Gradient) -> Tensor:
    """Puts an operation on the tape when recording is on and an input wants a gradient."""
    if GradMode.enabled and any(x.requires_grad for x in inputs):
        if out.dtype.is_floating_point:
            out.grad_fn = Node(name, [snapshot(x) for x in inputs], gradient)
    return out


def empty(shape: Sequence[int], kind: dtype, place: device) -> Tensor:
    """An uninitialised tensor: poison (NaN, or a large integer), so that unwritten elements show."""
    extents = [int(n) for n in shape]
    out = Tensor(
        UntypedStorage(math.prod(extents) * kind.itemsize, place),
        kind,
        extents,
        contiguous_strides(extents),
    )
    if kind.is_floating_point:
        out.raw[...] = encode(np.asarray(np.nan), kind)
    elif kind.name != "bool":
        out.raw[...] = np.iinfo(kind.raw).max // 3
    return out


def from_raw(raw: np.ndarray, kind: dtype, place: device) -> Tensor:
    """A row-major tensor of given bits."""
    out = empty(raw.shape, kind, place)
    out.raw[...] = raw
    return out


def from_values(values: np.ndarray, kind: dtype, place: device) -> Tensor:
    """A row-major tensor of given values."""
    return from_raw(encode(values, kind), kind, place)


def contiguous_strides(shape: Sequence[int]) -> list[int]:
    """Row-major strides."""
    out, step = [], 1
    for extent in reversed(shape):
        out.append(step)
        step *= max(extent, 1)
    return out[::-1]


def flatten_arguments(arguments: Sequence[object]) -> list[int]:
    """`(2, 3)` and `((2, 3),)` alike."""
    if len(arguments) == 1 and isinstance(arguments[0], list | tuple):
        arguments = arguments[0]
    return [int(a) for a in arguments]  # type: ignore[call-overload]


def infer_shape(shape: list[int], count: int) -> list[int]:
    """Resolves one -1."""
    if -1 in shape:
        rest = math.prod(n for n in shape if n != -1)
        if rest == 0 or count % rest:
            raise RuntimeError(f"shape '{shape}' is invalid for input of size {count}")
        shape = [count // rest if n == -1 else n for n in shape]
    if math.prod(shape) != count:
        raise RuntimeError(f"shape '{shape}' is invalid for input of size {count}")
    return shape


def view_strides(
    shape: Sequence[int], strides: Sequence[int], target: Sequence[int]
) -> list[int] | None:
    """The strides of a reshaped view, None when it needs a copy."""
    probe = np.lib.stride_tricks.as_strided(np.zeros(1, np.int8), tuple(shape), tuple(strides))
    if math.prod(shape) == 0:
        return contiguous_strides(target)
    try:
        probe.shape = tuple(target)
    except AttributeError:
        return None
    return [int(s) for s in probe.strides]


def as_tuple(index: object) -> tuple[object, ...]:
    """An index as a tuple."""
    return index if isinstance(index, tuple) else (index,)


def numpy_index(index: object) -> object:
    """Tensors inside an index become arrays."""
    if isinstance(index, tuple):
        return tuple(numpy_index(i) for i in index)
    return index.values if isinstance(index, Tensor) else index


def is_basic(index: object) -> bool:
    """Whether an index only slices."""
    return all(
        i is None or i is Ellipsis or isinstance(i, int | slice | np.integer)
        for i in as_tuple(index)
    )


def sum_to(g: Tensor, shape: Sequence[int]) -> Tensor:
    """Undoes broadcasting."""
    values = g.values.astype(np.float64)
    lead = values.ndim - len(shape)
    values = values.sum(axis=tuple(range(lead)))
    axes = tuple(i for i, n in enumerate(shape) if n == 1 and values.shape[i] != 1)
    values = values.sum(axis=axes, keepdims=True)
    return from_values(values.reshape(tuple(shape)), g.dtype, g.device)


def promote(left: object, right: object) -> dtype:
    """The result type of an arithmetic operation as torch has it."""
    if isinstance(left, Tensor) and isinstance(right, Tensor):
        if left.ndim == 0 and right.ndim > 0 and category(left) <= category(right):
            return right.dtype
        if right.ndim == 0 and left.ndim > 0 and category(right) <= category(left):
            return left.dtype
        return promote_dtypes(left.dtype, right.dtype)
    tensor, scalar = (left, right) if isinstance(left, Tensor) else (right, left)
    assert isinstance(tensor, Tensor)
    if isinstance(scalar, float | np.floating) and not tensor.dtype.is_floating_point:
        return DTYPES["float32"]
    if tensor.dtype.name == "bool" and not isinstance(scalar, bool | np.bool_):
        return DTYPES["int64"]
    return tensor.dtype


def category(tensor: Tensor) -> int:
    """bool < integer < float."""
    return 2 if tensor.dtype.is_floating_point else int(tensor.dtype.name != "bool")


def promote_dtypes(left: dtype, right: dtype) -> dtype:
    """The smallest type that holds both."""
    if left is right:
        return left
    if left.is_floating_point != right.is_floating_point:
        return left if left.is_floating_point else right
    if left.is_floating_point:
        if left.itemsize != right.itemsize:
            return left if left.itemsize > right.itemsize else right
        return DTYPES["float32"]
    return dtype_of_numpy(np.promote_types(left.raw, right.raw))
