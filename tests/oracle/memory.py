"""Watches what interpreted kernels touch: which kernels ran, and accesses outside of the tensors they were given."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np


class Watch:
    """What the launches since `start` did."""

    def __init__(self) -> None:
        self.kernels: list[str] = []
        self.outside: dict[str, str] = {}
        self.guards = False
        self.running: list[str] = []
        self.starts: list[int] = []
        self.ends: list[int] = []

    def start(self, guards: bool) -> None:
        """Forgets what was; with `guards`, accesses outside of tensors are left undone, too."""
        self.kernels, self.outside, self.guards = [], {}, guards

    def enter(self, name: str, tensors: list) -> None:
        """A launch begins."""
        self.kernels.append(name)
        self.running.append(name)
        spans = []
        for tensor in tensors:
            storage = tensor.untyped_storage()
            spans.append((storage.data_ptr(), storage.data_ptr() + storage.nbytes()))
        spans.sort()
        self.starts, self.ends = [s for s, _ in spans], [e for _, e in spans]

    def allowed(self, addresses: np.ndarray, mask: np.ndarray, size: int, what: str) -> np.ndarray:
        """The mask without the accesses that no tensor of the launch holds."""
        addresses, mask = np.broadcast_arrays(addresses, mask)
        starts = np.array(self.starts or [0], np.uint64)
        ends = np.array(self.ends or [0], np.uint64)
        at = np.searchsorted(starts, addresses, side="right").astype(np.int64) - 1
        inside = (at >= 0) & (addresses + np.uint64(size) <= ends[np.maximum(at, 0)])
        wrong = mask & ~inside
        if not wrong.any():
            return mask
        name = self.running[-1] if self.running else "?"
        self.outside.setdefault(
            name, f"{what} of {int(wrong.sum())} elements outside of its tensors"
        )
        return mask & inside if self.guards else mask


def tensors_in(values: object) -> list:
    """Tensors of arguments, also in tuples and descriptors."""
    found: list = []
    for value in values:  # type: ignore[attr-defined]
        if hasattr(value, "untyped_storage"):
            found.append(value)
        elif isinstance(value, tuple | list):
            found += tensors_in(value)
        elif hasattr(value, "base") and hasattr(value, "block_shape"):
            found += tensors_in([value.base])
    return found


def install() -> Watch:
    """Patches the interpreter of this process."""
    from triton.runtime import interpreter

    watch = Watch()
    executor = interpreter.GridExecutor
    run_before = executor.__call__

    def run(self, *arguments, **keywords):
        watch.enter(self.fn.__name__, tensors_in([*arguments, *keywords.values()]))
        try:
            return run_before(self, *arguments, **keywords)
        finally:
            watch.running.pop()

    executor.__call__ = run
    real = interpreter._interpreter

    def load(addresses, mask, other, dtype):
        mask = watch.allowed(addresses, mask, np.dtype(dtype).itemsize, "load")
        return real.load(addresses, mask, other, dtype)

    def store(addresses, value, mask):
        return real.store(
            addresses, value, watch.allowed(addresses, mask, value.dtype.itemsize, "store")
        )

    def atomic_rmw(operation, addresses, value, mask, order):
        mask = watch.allowed(addresses, mask, value.dtype.itemsize, "atomic")
        return real.atomic_rmw(operation, addresses, value, mask, order)

    names = {name: getattr(real, name) for name in dir(real) if not name.startswith("__")}
    names |= {"load": load, "store": store, "atomic_rmw": atomic_rmw}
    interpreter._interpreter = SimpleNamespace(**names)
    return watch
