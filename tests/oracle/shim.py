"""What PyTorch 1.13 lacks of what the current one has, as far as emitted modules and Triton's interpreter use it.

Applied in the oracle's own processes only.  A current PyTorch needs nothing of it.
"""

from __future__ import annotations

import contextlib


def apply() -> None:
    """Adds what is missing to the PyTorch of this process."""
    import torch

    if not hasattr(torch.Tensor, "untyped_storage"):
        torch.Tensor.untyped_storage = lambda self: self.storage().untyped()
    if not hasattr(torch.autograd, "_unsafe_preserve_version_counter"):
        torch.autograd._unsafe_preserve_version_counter = preserve_version_counter
    if not hasattr(torch.float32, "itemsize"):
        from triton.tools.tensor_descriptor import TensorDescriptor

        TensorDescriptor.__post_init__ = lambda self: None  # it only checks, and asks for that
    if not hasattr(torch, "compiler"):
        torch.compiler = Compiler()  # type: ignore[assignment]


class Compiler:
    """Stands for torch.compiler where nothing is ever compiled."""

    @staticmethod
    def is_compiling() -> bool:
        return False

    @staticmethod
    def disable(function: object = None, **_: object) -> object:
        return function if function is not None else lambda f: f


@contextlib.contextmanager
def preserve_version_counter(tensors: object):
    """Copies inside are not seen by autograd's version counters."""
    import torch

    copy = torch.Tensor.copy_
    torch.Tensor.copy_ = lambda self, *a, **k: copy(self.data, *a, **k) is None or self
    try:
        yield
    finally:
        torch.Tensor.copy_ = copy


def poison_memory() -> None:
    """New memory holds NaN (or a large integer), so that whoever relies on its content is seen."""
    import torch

    def poisoned(function):
        def allocate(*arguments, **keywords):
            tensor = function(*arguments, **keywords)
            with torch.no_grad():
                if tensor.is_floating_point():
                    tensor.fill_(float("nan"))
                elif tensor.dtype in (torch.int16, torch.int32, torch.int64):
                    tensor.fill_(31313)
            return tensor

        return allocate

    for owner, names in (
        (torch, ("empty", "empty_like", "empty_strided")),
        (torch.Tensor, ("new_empty", "new_empty_strided")),
    ):
        for name in names:
            setattr(owner, name, poisoned(getattr(owner, name)))
