"""The tape of the stand-in for torch: `autograd.Function`, `backward`, and gradients of host operations.

Functions follow PyTorch's rules: `forward` runs unrecorded, `backward` must return one gradient per
argument of `forward`, saved tensors may not have been written to in between.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps

import numpy as np

from tests.support.fake_tensor import (
    GradMode,
    Node,
    Tensor,
    from_values,
    grad_mode,
    snapshot,
    sum_to,
)


class FunctionContext:
    """`ctx` of a Function."""

    def __init__(self, needs_input_grad: tuple[bool, ...]) -> None:
        self.needs_input_grad = needs_input_grad
        self._saved: tuple[tuple[Tensor | None, int], ...] = ()
        self._dirty: set[int] = set()
        self._non_differentiable: set[int] = set()
        self._materialize = True

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keeps tensors for `backward`."""
        for tensor in tensors:
            if tensor is not None and not isinstance(tensor, Tensor):
                raise TypeError(
                    f"save_for_backward can only save variables, but got {type(tensor).__name__}"
                )
        self._saved = tuple((t, t._version if t is not None else 0) for t in tensors)

    save_for_forward = save_for_backward

    def settle(self) -> None:
        """PyTorch takes the versions when `forward` has returned, whatever it marked dirty before or after."""
        self._saved = tuple((t, t._version if t is not None else 0) for t, _ in self._saved)

    @property
    def saved_tensors(self) -> tuple[Tensor | None, ...]:
        """What was kept; an error where it was written to since."""
        for tensor, version in self._saved:
            if tensor is not None and tensor._version != version:
                raise RuntimeError(
                    "one of the variables needed for gradient computation has been modified by an "
                    f"inplace operation: is at version {tensor._version}; expected {version}"
                )
        return tuple(tensor for tensor, _ in self._saved)

    def mark_dirty(self, *tensors: Tensor) -> None:
        """Names inputs that `forward` overwrote."""
        self._dirty |= {id(t) for t in tensors}
        for tensor in tensors:
            tensor._storage.version += 1

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        """Names outputs without gradient."""
        self._non_differentiable |= {id(t) for t in tensors}

    def set_materialize_grads(self, value: bool) -> None:
        """Whether missing output gradients arrive as zeros (else as None)."""
        self._materialize = value


class Function:
    """Base class of user-defined operations with a backward."""

    @staticmethod
    def forward(*arguments: object, **keywords: object) -> object:
        """To be overridden."""
        raise NotImplementedError("You must implement the forward function for autograd.Function.")

    @staticmethod
    def setup_context(ctx: FunctionContext, inputs: tuple[object, ...], output: object) -> object:
        """Overridden by Functions whose `forward` takes no ctx."""
        raise NotImplementedError

    @staticmethod
    def backward(ctx: FunctionContext, *gradients: object) -> object:
        """To be overridden."""
        raise NotImplementedError("You must implement the backward function for autograd.Function.")

    @classmethod
    def apply(cls, *arguments: object) -> object:
        """Runs `forward` and records `backward`."""
        tensors = [a for a in arguments if isinstance(a, Tensor)]
        recording = GradMode.enabled and any(t.requires_grad for t in tensors)
        needs = tuple(recording and isinstance(a, Tensor) and a.requires_grad for a in arguments)
        ctx = FunctionContext(needs)
        before = {id(t): snapshot(t) for t in tensors}
        with grad_mode(False):
            if cls.setup_context is not Function.setup_context:
                output = cls.forward(*arguments)
                cls.setup_context(ctx, arguments, output)
            else:
                output = cls.forward(ctx, *arguments)
        ctx.settle()
        outputs = output if isinstance(output, tuple) else (output,)
        wrapped = tuple(own_output(ctx, o, before) for o in outputs)
        if recording:
            attach(cls, ctx, arguments, wrapped, before)
        return wrapped if isinstance(output, tuple) else wrapped[0]


def own_output(ctx: FunctionContext, output: object, inputs: dict[int, Tensor]) -> object:
    """An input returned unchanged leaves as a view, as PyTorch has it; a dirty one as itself."""
    if isinstance(output, Tensor) and id(output) in inputs and id(output) not in ctx._dirty:
        return output.detach()
    return output


def attach(
    cls: type[Function],
    ctx: FunctionContext,
    arguments: Sequence[object],
    outputs: Sequence[object],
    before: dict[int, Tensor],
) -> None:
    """Puts a Function on the tape."""
    for argument in arguments:
        if id(argument) in ctx._dirty and isinstance(argument, Tensor):
            if argument.is_leaf and argument._requires_grad:
                raise RuntimeError(
                    "a leaf Variable that requires grad is being used in an in-place operation."
                )
    inputs = [before.get(id(a), a) for a in arguments]
    shapes = [(o.shape, o.dtype, o.device) if isinstance(o, Tensor) else None for o in outputs]

    def gradient(*given: Tensor | None) -> Sequence[object]:
        filled = [
            zeros_for(shape) if g is None and ctx._materialize and shape else g
            for g, shape in zip(given, shapes, strict=True)
        ]
        with grad_mode(False):
            returned = cls.backward(ctx, *filled)
        return checked_gradients(cls.__name__, returned, arguments)

    node = Node(cls.__name__, inputs, gradient)
    node.outputs = len(outputs)
    for index, output in enumerate(outputs):
        if isinstance(output, Tensor) and output.dtype.is_floating_point:
            if id(output) not in ctx._non_differentiable:
                output.grad_fn, output.output_index = node, index
                output._requires_grad = False


def zeros_for(shape: tuple[object, ...]) -> Tensor:
    """A zero gradient of an output's shape and dtype."""
    return from_values(np.zeros(tuple(shape[0])), shape[1], shape[2])  # type: ignore[arg-type]


def checked_gradients(
    name: str, returned: object, arguments: Sequence[object]
) -> Sequence[Tensor | None]:
    """What `backward` returned, one per argument of `forward`; errors as PyTorch reports them."""
    gradients = list(returned) if isinstance(returned, tuple | list) else [returned]
    while len(gradients) > len(arguments) and gradients[-1] is None:
        gradients.pop()
    if len(gradients) != len(arguments):
        raise RuntimeError(
            f"function {name}Backward returned an incorrect number of gradients "
            f"(expected {len(arguments)}, got {len(gradients)})"
        )
    out: list[Tensor | None] = []
    for index, (gradient, argument) in enumerate(zip(gradients, arguments, strict=True)):
        if gradient is None:
            out.append(None)
        elif not isinstance(argument, Tensor):
            raise RuntimeError(
                f"function {name}Backward returned a gradient different than None at position "
                f"{index + 1}, but the corresponding forward input was not a Variable"
            )
        elif not isinstance(gradient, Tensor):
            raise RuntimeError(f"function {name}Backward returned an invalid type at index {index}")
        else:
            out.append(fitted(name, index, gradient, argument))
    return out


def fitted(name: str, index: int, gradient: Tensor, argument: Tensor) -> Tensor:
    """A gradient with its input's shape, dtype and device."""
    if gradient.shape != argument.shape:
        try:
            np.broadcast_to(np.empty(tuple(argument.shape)), tuple(gradient.shape))
        except ValueError:
            raise RuntimeError(
                f"Function {name}Backward returned an invalid gradient at index {index} - got "
                f"{list(gradient.shape)} but expected shape compatible with {list(argument.shape)}"
            ) from None
        gradient = sum_to(gradient, argument.shape)
    return gradient.to(argument.dtype).to(argument.device)


def run_backward(
    roots: Sequence[Tensor],
    gradients: Sequence[Tensor | None],
    accumulate: bool,
    wanted: Sequence[Tensor] = (),
) -> dict[int, Tensor]:
    """Walks the tape; the gradients of `wanted` by id, and `.grad` of leaves when `accumulate`."""
    collected: dict[int, Tensor] = {}
    pending: dict[int, list[Tensor | None]] = {}
    nodes = {id(node): node for node in ordered_nodes(roots)}
    targets = {target_key(t): t for t in wanted}

    def deliver(tensor: object, gradient: Tensor | None) -> None:
        if not isinstance(tensor, Tensor) or gradient is None or not tensor.requires_grad:
            return
        if target_key(tensor) in targets:
            key = id(targets[target_key(tensor)])
            collected[key] = added(collected.get(key), gradient)
        if tensor.grad_fn is None:
            if accumulate:
                tensor.grad = added(tensor.grad, gradient)
            return
        if tensor._retains_grad:
            tensor.grad = added(tensor.grad, gradient)
        slots = pending.setdefault(id(tensor.grad_fn), [None] * tensor.grad_fn.outputs)
        slots[tensor.output_index] = added(slots[tensor.output_index], gradient)

    for root, gradient in zip(roots, gradients, strict=True):
        if not root.requires_grad:
            raise RuntimeError("element 0 of tensors does not require grad and has no grad_fn")
        if gradient is None:
            if root.numel() != 1:
                raise RuntimeError("grad can be implicitly created only for scalar outputs")
            gradient = from_values(np.ones(tuple(root.shape)), root.dtype, root.device)
        if gradient.shape != root.shape:
            raise RuntimeError(
                f"Mismatch in shape: grad_output[0] has a shape of {gradient.shape} and "
                f"output[0] has a shape of {root.shape}."
            )
        deliver(root, gradient)
    with grad_mode(False):
        for key, node in nodes.items():
            slots = pending.pop(key, None)
            if slots is not None:
                for tensor, gradient in zip(node.inputs, node.gradient(*slots), strict=True):
                    deliver(tensor, gradient)  # type: ignore[arg-type]
    return collected


def target_key(tensor: Tensor) -> object:
    """Identifies a tensor on the tape: by its node and output, or by itself when it is a leaf."""
    if tensor.grad_fn is not None:
        return id(tensor.grad_fn), tensor.output_index
    return id(tensor)


def added(total: Tensor | None, gradient: Tensor) -> Tensor:
    """The running sum of gradients."""
    if total is None:
        return gradient.detach()
    return from_values(total.values + gradient.values, total.dtype, total.device)


def ordered_nodes(roots: Sequence[Tensor]) -> list[Node]:
    """Every node the roots depend on, users before their inputs."""
    order: list[Node] = []
    seen: set[int] = set()
    stack = [(r.grad_fn, False) for r in roots if r.grad_fn is not None]
    while stack:
        node, finished = stack.pop()
        if finished:
            order.append(node)
        elif id(node) not in seen:
            seen.add(id(node))
            stack.append((node, True))
            for tensor in node.inputs:
                if isinstance(tensor, Tensor) and tensor.grad_fn is not None:
                    stack.append((tensor.grad_fn, False))
    return order[::-1]


def grad(
    outputs: Tensor | Sequence[Tensor],
    inputs: Tensor | Sequence[Tensor],
    grad_outputs: Tensor | Sequence[Tensor | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    allow_unused: bool = False,
) -> tuple[Tensor | None, ...]:
    """Gradients of outputs with respect to inputs, without touching `.grad`."""
    roots = [outputs] if isinstance(outputs, Tensor) else list(outputs)
    wanted = [inputs] if isinstance(inputs, Tensor) else list(inputs)
    if grad_outputs is None:
        given: list[Tensor | None] = [None] * len(roots)
    else:
        given = [grad_outputs] if isinstance(grad_outputs, Tensor) else list(grad_outputs)
    found = run_backward(roots, given, accumulate=False, wanted=wanted)
    out = tuple(found.get(id(t)) for t in wanted)
    if not allow_unused and None in out:
        raise RuntimeError("One of the differentiated Tensors appears to not have been used.")
    return out


def once_differentiable(backward: Callable[..., object]) -> Callable[..., object]:
    """Marks a backward that has no derivative of its own."""

    @wraps(backward)
    def wrapper(ctx: FunctionContext, *gradients: object) -> object:
        with grad_mode(False):
            return backward(ctx, *gradients)

    return wrapper
