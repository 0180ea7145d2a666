"""Element types, devices and storages of the stand-in for torch: raw bytes to NumPy values and back.

bfloat16 and float8 live as unsigned integers of their own width; `decode` gives float32 values,
`encode` rounds to nearest even.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

ALIGNMENT = 256
# Bytes before and after every storage; all ones reads as NaN or -1, so reads outside show as well.
GUARD = 4096
GUARD_BYTE = 0xFF


class dtype:
    """A torch dtype: `raw` is the NumPy type of the stored bits, `value` the one computed with."""

    __module__ = "torch"

    def __init__(
        self, name: str, raw: type, value: type | None = None, *, floating: bool = False
    ) -> None:
        self.name = name
        self.raw = np.dtype(raw)
        self.value = np.dtype(value or raw)
        self.is_floating_point = floating
        self.is_complex = False
        self.is_signed = floating or np.issubdtype(self.raw, np.signedinteger)
        self.itemsize = self.raw.itemsize

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> tuple[object, ...]:
        return dtype_named, (self.name,)

    @property
    def primitive_bits(self) -> int:
        """Bits per element."""
        return 8 * self.itemsize


DTYPES = {
    d.name: d
    for d in (
        dtype("bool", np.bool_),
        dtype("uint8", np.uint8),
        dtype("int8", np.int8),
        dtype("int16", np.int16),
        dtype("int32", np.int32),
        dtype("int64", np.int64),
        dtype("uint16", np.uint16),
        dtype("uint32", np.uint32),
        dtype("uint64", np.uint64),
        dtype("float16", np.float16, floating=True),
        dtype("bfloat16", np.uint16, np.float32, floating=True),
        dtype("float32", np.float32, floating=True),
        dtype("float64", np.float64, floating=True),
        dtype("float8_e4m3fn", np.uint8, np.float32, floating=True),
        dtype("float8_e5m2", np.uint8, np.float32, floating=True),
        dtype("float8_e4m3fnuz", np.uint8, np.float32, floating=True),
        dtype("float8_e5m2fnuz", np.uint8, np.float32, floating=True),
    )
}
DTYPE_ALIASES = {
    "half": "float16",
    "float": "float32",
    "double": "float64",
    "short": "int16",
    "int": "int32",
    "long": "int64",
}
# float8 formats: exponent bits, mantissa bits, bias, kind of specials.
FLOAT8 = {
    "float8_e4m3fn": (4, 3, 7, "fn"),
    "float8_e5m2": (5, 2, 15, "ieee"),
    "float8_e4m3fnuz": (4, 3, 8, "fnuz"),
    "float8_e5m2fnuz": (5, 2, 16, "fnuz"),
}
_float8_tables: dict[str, np.ndarray] = {}


def dtype_named(name: str) -> dtype:
    """The dtype called `name`, aliases included."""
    return DTYPES[DTYPE_ALIASES.get(name, name)]


def dtype_of_numpy(kind: np.dtype) -> dtype:
    """The torch dtype of a NumPy dtype."""
    return DTYPES[np.dtype(kind).name]


def float8_table(name: str) -> np.ndarray:
    """The value of each of the 256 codes of a float8 format."""
    if name not in _float8_tables:
        exponent_bits, mantissa_bits, bias, kind = FLOAT8[name]
        code = np.arange(256)
        sign = np.where(code >= 128, -1.0, 1.0)
        exponent = (code >> mantissa_bits) & ((1 << exponent_bits) - 1)
        mantissa = (code & ((1 << mantissa_bits) - 1)) / (1 << mantissa_bits)
        value = np.where(
            exponent == 0,
            mantissa * 2.0 ** (1 - bias),
            (1.0 + mantissa) * 2.0 ** (exponent - bias),
        )
        table = (sign * value).astype(np.float32)
        if kind == "fn":
            table[[0x7F, 0xFF]] = np.nan
        elif kind == "fnuz":
            table[0x80] = np.nan
        else:
            special = exponent == (1 << exponent_bits) - 1
            table[special] = np.where(mantissa[special] == 0, sign[special] * np.inf, np.nan)
        _float8_tables[name] = table
    return _float8_tables[name]


def decode(raw: np.ndarray, kind: dtype) -> np.ndarray:
    """Stored bits as values; a copy only where the format needs one."""
    if kind.name == "bfloat16":
        return (raw.astype(np.uint32) << 16).view(np.float32)
    if kind.name in FLOAT8:
        return float8_table(kind.name)[raw]
    return raw


def encode(values: np.ndarray, kind: dtype) -> np.ndarray:
    """Values as stored bits, rounded to nearest even."""
    if kind.name == "bfloat16":
        return float32_to_bfloat16(np.asarray(values, dtype=np.float32))
    if kind.name in FLOAT8:
        return nearest_float8(np.asarray(values, dtype=np.float32), kind.name)
    with np.errstate(all="ignore"):
        return np.asarray(values).astype(kind.raw)


def float32_to_bfloat16(values: np.ndarray) -> np.ndarray:
    """The upper 16 bits after rounding to nearest even; NaN stays NaN."""
    bits = np.ascontiguousarray(values).view(np.uint32).reshape(values.shape)
    rounded = (bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) >> np.uint32(16)
    return np.where(np.isnan(values), 0x7FC0, rounded).astype(np.uint16)


def nearest_float8(values: np.ndarray, name: str) -> np.ndarray:
    """The nearest code, ties to the even mantissa; saturates as torch's cast does not: NaN for e4m3fn."""
    table = float8_table(name)
    finite = np.flatnonzero(np.isfinite(table[:128]))
    magnitudes = table[finite].astype(np.float64)
    wanted = np.abs(values.astype(np.float64))
    upper = np.clip(np.searchsorted(magnitudes, wanted), 1, len(magnitudes) - 1)
    low, high = magnitudes[upper - 1], magnitudes[upper]
    take_high = (wanted - low > high - wanted) | (
        (wanted - low == high - wanted) & (upper % 2 == 0)
    )
    code = finite[np.where(take_high, upper, upper - 1)]
    step = magnitudes[-1] - magnitudes[-2]
    overflow = wanted >= magnitudes[-1] + step / 2
    special = {"fn": 0x7F, "ieee": 0x7C, "fnuz": 0x80}[FLOAT8[name][3]]
    code = np.where(overflow, special, code)
    code = np.where(np.signbit(values) & (code != 0x80), code | 0x80, code)
    if FLOAT8[name][3] == "fnuz":
        code = np.where((code & 0x7F) == 0, np.where(overflow, 0x80, 0), code)
    nan = {"fn": 0x7F, "ieee": 0x7E, "fnuz": 0x80}[FLOAT8[name][3]]
    return np.where(np.isnan(values), nan, code).astype(np.uint8)


@dataclass(frozen=True)
class device:
    """A torch device; the stand-in keeps every tensor in host memory whatever its device says."""

    type: str = "cpu"
    index: int | None = None

    def __new__(cls, *arguments: object, **keywords: object) -> device:
        return object.__new__(cls)

    def __init__(self, type: object = "cpu", index: int | None = None) -> None:
        if isinstance(type, device):
            name, index = type.type, type.index
        elif isinstance(type, int):
            name, index = "cuda", type
        else:
            name, _, number = str(type).partition(":")
            index = int(number) if number else index
        if name == "cuda" and index is None:
            index = 0
        object.__setattr__(self, "type", name)
        object.__setattr__(self, "index", index)

    def __repr__(self) -> str:
        suffix = f", index={self.index}" if self.index is not None else ""
        return f"device(type='{self.type}'{suffix})"

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __enter__(self) -> device:
        return self

    def __exit__(self, *exception: object) -> None:
        return None


class UntypedStorage:
    """Bytes shared by all views of a tensor, at an aligned address; `version` counts writes in place."""

    def __init__(self, size: int, place: device | None = None) -> None:
        self.block = np.full(size + 2 * GUARD + ALIGNMENT, GUARD_BYTE, dtype=np.uint8)
        self.start = GUARD + -(self.block.ctypes.data + GUARD) % ALIGNMENT
        self.bytes = self.block[self.start : self.start + size]
        self.bytes[...] = 0
        self.device = place or device()
        self.version = 0

    def data_ptr(self) -> int:
        """Address of the first byte."""
        return int(self.block.ctypes.data) + self.start

    def written_outside(self) -> int | None:
        """The byte nearest to the storage that somebody wrote outside of it, relative to its start."""
        before = np.flatnonzero(self.block[: self.start] != GUARD_BYTE)
        end = self.start + self.bytes.size
        after = np.flatnonzero(self.block[end:] != GUARD_BYTE)
        if after.size:
            return int(after[0]) + self.bytes.size
        return int(before[-1]) - self.start if before.size else None

    def nbytes(self) -> int:
        """Size in bytes."""
        return int(self.bytes.size)

    size = nbytes
    __len__ = nbytes

    def cpu(self) -> UntypedStorage:
        """A copy on the CPU, itself when it is there."""
        if self.device.type == "cpu":
            return self
        out = UntypedStorage(self.nbytes())
        out.bytes[...] = self.bytes
        return out

    def copy_(self, other: UntypedStorage) -> UntypedStorage:
        """Takes over the other's bytes: the interpreter does so with all that a launch gets, read or written."""
        self.version += not np.array_equal(self.bytes, other.bytes)
        self.bytes[...] = other.bytes
        return self

    def typed(self, kind: dtype) -> np.ndarray:
        """All whole elements as a flat array of raw bits."""
        count = self.bytes.size // kind.itemsize
        return self.bytes[: count * kind.itemsize].view(kind.raw)
