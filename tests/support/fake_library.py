"""`torch.library.triton_op` of the stand-in for torch: functional operators with a registered gradient.

Stricter than PyTorch where that finds mistakes: arguments must have the types of the annotations (from which PyTorch
makes the operator's schema), and what is returned may share no memory with an argument or another result.
"""

from __future__ import annotations

import typing
from collections.abc import Callable, Sequence

from tests.support.fake_autograd import Function
from tests.support.fake_tensor import Tensor, grad_mode

SCALARS = (int, float, bool, str)


class Operator:
    """What `triton_op` makes of a function."""

    def __init__(self, name: str, function: Callable[..., object]) -> None:
        if name.count("::") != 1:
            raise ValueError(f"an operator's name is NAMESPACE::NAME, not {name!r}")
        self.name, self.function = name, function
        hints = typing.get_type_hints(function)
        self.returned = hints.pop("return")
        self.hints = list(hints.items())
        self.backward: Callable[..., object] | None = None
        self.setup: Callable[..., object] | None = None
        for parameter, hint in self.hints:
            if not in_schema(hint):
                raise ValueError(f"{name}: no operator takes `{parameter}: {hint}`")

    def register_autograd(
        self, backward: Callable[..., object], /, *, setup_context: Callable[..., object]
    ) -> None:
        """The gradient: `setup_context(ctx, inputs, output)`, then `backward(ctx, *gradients)`."""
        self.backward, self.setup = backward, setup_context

    def run(self, *inputs: object) -> object:
        """The function itself, with arguments and results checked."""
        if len(inputs) != len(self.hints):
            raise TypeError(f"{self.name} takes {len(self.hints)} arguments, not {len(inputs)}")
        for value, (parameter, hint) in zip(inputs, self.hints, strict=True):
            if not is_a(value, hint):
                raise TypeError(f"{self.name}: `{parameter}` is a {hint}, not {value!r}")
        # Triton's interpreter copies every argument there and back, so versions say nothing.
        before = [t.raw.tobytes() for t in inputs if isinstance(t, Tensor)]
        with grad_mode(False):
            output = self.function(*inputs)
        if before != [t.raw.tobytes() for t in inputs if isinstance(t, Tensor)]:
            raise RuntimeError(f"{self.name} writes to an argument")
        if not is_a(output, self.returned):
            raise TypeError(f"{self.name} returns a {self.returned}, not {type(output)}")
        self.refuse_aliases(inputs, output)
        return output

    def refuse_aliases(self, inputs: Sequence[object], output: object) -> None:
        """Results are new memory."""
        results = output if isinstance(output, tuple) else (output,)
        known = {id(t._storage) for t in inputs if isinstance(t, Tensor)}
        for result in results:
            if id(result._storage) in known:  # type: ignore[attr-defined]
                raise RuntimeError(f"{self.name} returns a view of an argument or of a result")
            known.add(id(result._storage))  # type: ignore[attr-defined]

    def __call__(self, *inputs: object) -> object:
        """Recorded when there is a gradient."""
        if self.backward is None or self.setup is None:
            return self.run(*inputs)
        operator_backward, operator_setup = self.backward, self.setup
        members = {
            "forward": staticmethod(self.run),
            "setup_context": staticmethod(operator_setup),
            "backward": staticmethod(operator_backward),
        }
        return type(self.name, (Function,), members).apply(*inputs)  # type: ignore[attr-defined]


def in_schema(hint: object) -> bool:
    """Whether PyTorch's schemas have the type."""
    if typing.get_origin(hint) is typing.Union:
        inner = [t for t in typing.get_args(hint) if t is not type(None)]
        return len(inner) == 1 and in_schema(inner[0])
    return hint in (Tensor, *SCALARS, typing.Sequence[int])


def is_a(value: object, hint: object) -> bool:
    """Whether a value has a type of a schema; flags are no numbers."""
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Union:
        return any(is_a(value, t) for t in inner)
    if origin is tuple:
        return (
            isinstance(value, tuple) and all(map(is_a, value, inner)) and len(value) == len(inner)
        )
    if hint == typing.Sequence[int]:
        return isinstance(value, tuple | list) and all(is_a(v, int) for v in value)
    if hint is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, hint)  # type: ignore[arg-type]


def triton_op(name: str, *, mutates_args: Sequence[str]) -> Callable[..., Operator]:
    """The decorator; operators that write to arguments have no gradients and are not written here."""
    if mutates_args:
        raise NotImplementedError("an operator with a gradient mutates nothing")
    return lambda function: Operator(name, function)
