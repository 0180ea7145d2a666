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
    if not hasattr(torch.library, "triton_op"):
        torch.library.triton_op = triton_op
        torch.library.wrap_triton = lambda kernel: kernel


def triton_op(name: str, *, mutates_args: object) -> object:
    """torch.library.triton_op: an operator that nobody compiles."""
    return lambda function: Operator(name, function)


def refuse(ctx: object, *gradients: object) -> None:
    """The gradient of an operator that has none."""
    raise RuntimeError("no autograd formula was registered")


class Operator:
    """What triton_op makes of a function. As there, results are new memory, and arguments stay as they are."""

    def __init__(self, name: str, function: object):
        self.name, self.function = name, function
        self.register_autograd(refuse, setup_context=lambda ctx, inputs, output: None)

    def register_autograd(self, backward: object, /, *, setup_context: object) -> None:
        """The gradient: `setup_context(ctx, inputs, output)`, then `backward(ctx, *gradients)`."""
        import torch

        def forward(ctx: object, *inputs: object) -> object:
            output = self.run(*inputs)
            setup_context(ctx, inputs, output)
            return output

        members = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
        self.generated = type("Generated", (torch.autograd.Function,), members)

    def run(self, *inputs: object) -> object:
        """The function itself, with results and arguments looked at."""
        import torch

        tensors = [t for t in inputs if isinstance(t, torch.Tensor)]
        before = [t.clone() for t in tensors]
        with torch.no_grad():
            output = self.function(*inputs)
        for tensor, old in zip(tensors, before, strict=True):
            if not torch.equal(torch.nan_to_num(tensor), torch.nan_to_num(old)):
                raise RuntimeError(f"{self.name} writes to an argument")
        results = output if isinstance(output, tuple) else (output,)
        places = [t.untyped_storage().data_ptr() for t in (*tensors, *results) if t.numel()]
        new = [t.untyped_storage().data_ptr() for t in results if t.numel()]
        if any(places.count(place) > 1 for place in new):
            raise RuntimeError(f"{self.name} returns memory that has another name")
        return output

    def __call__(self, *inputs: object) -> object:
        import torch

        asks = any(isinstance(t, torch.Tensor) and t.requires_grad for t in inputs)
        if asks and torch.is_grad_enabled():
            return self.generated.apply(*inputs)
        return self.run(*inputs)


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
