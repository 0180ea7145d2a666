"""Gradients of an emitted module beside central differences of the original launcher, in one process with PyTorch."""

from __future__ import annotations

import contextlib
import importlib
import linecache
import math
import re
import signal
import sys
import traceback
import warnings
from pathlib import Path

import numpy as np
import torch

from tests.oracle.case import Call, Input
from tests.oracle.memory import Watch

# Pairs of steps for differences of fourth order: where both agree, rounding is small enough.  A kink nearer than a
# step gives the mean of its two slopes; then finer steps see one of them.
STEPS = {
    "exact": ((2.0**-7, 2.0**-9), (2.0**-11, 2.0**-13), (2.0**-15, 2.0**-17)),
    "single": ((2.0**-4, 2.0**-6), (2.0**-5, 2.0**-8), (2.0**-7, 2.0**-9)),
}
ROUNDING = {"exact": 1e-13, "single": 1.2e-7}
# How far a gradient may be from differences, in parts of the size of its terms, by its narrowest type.
TOLERANCE = {"float64": 2e-5, "float32": 2e-3, "float16": 2e-2, "bfloat16": 1e-1}
FLOATS = re.compile(r"\b(tl|torch)\.(float32|float16|bfloat16)\b")


class TooLongError(Exception):
    """A launch did not end."""


@contextlib.contextmanager
def limited(seconds: int):
    """Raises TooLongError after so much CPU time."""

    def stop(*_: object) -> None:
        raise TooLongError

    signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def flat(outputs: object) -> list[torch.Tensor]:
    """The float tensors in what a launcher gave back."""
    if isinstance(outputs, torch.Tensor):
        return [outputs] if outputs.is_floating_point() else []
    if isinstance(outputs, dict):
        outputs = list(outputs.values())
    if isinstance(outputs, list | tuple):
        return [tensor for output in outputs for tensor in flat(output)]
    return []


def content(name: str, given: Input, seed: int) -> torch.Tensor:
    """What an input holds, in float64 or as integers."""
    random = np.random.default_rng([seed, *name.encode()])
    if given.values is not None:
        data = np.array(given.values).reshape(given.shape)
    elif given.dtype.startswith(("float", "bfloat")):
        data = random.uniform(given.low, given.high, given.shape)
    elif given.dtype == "bool":
        data = random.integers(0, 2, given.shape).astype(bool)
    else:
        data = random.integers(int(given.low), int(given.high), given.shape, endpoint=True)
    kind = getattr(torch, given.dtype)
    tensor = torch.tensor(data).to(kind)  # rounded to its type first
    return tensor.to(torch.float64) if kind.is_floating_point else tensor


class Measurement:
    """One call of one case."""

    def __init__(
        self, call: Call, folder: Path, main: str, written: Path | None, watch: Watch, seconds: int
    ):
        self.call, self.folder, self.main, self.written = call, folder, main, written
        self.watch, self.seconds = watch, seconds
        self.data = {name: content(name, given, call.seed) for name, given in call.inputs.items()}
        text = (folder / main).read_text()
        kinds = [i.dtype for i in call.inputs.values() if i.dtype in TOLERANCE]
        narrow = "float32" in text or any(kind != "float64" for kind in kinds)
        self.precision = "single" if narrow and not call.wide else "exact"
        self.tolerance = max((TOLERANCE[kind] for kind in kinds), default=2e-5)
        random = np.random.default_rng([call.seed, 99])
        self.directions = {
            name: torch.tensor(
                random.uniform(0.5, 1.5, given.shape) * random.choice([-1, 1], given.shape)
            )
            for name, given in call.inputs.items()
            if given.grad
        }
        self.random = random

    def import_fresh(self, path: Path) -> object:
        """The module, with its neighbours imported anew."""
        for name, module in list(sys.modules.items()):
            file = getattr(module, "__file__", None)
            if file and Path(file).parent == self.folder:
                del sys.modules[name]
        linecache.clearcache()
        importlib.invalidate_caches()
        return importlib.import_module(path.stem)

    def evaluate(
        self, module: object, text: str, moved: dict[str, torch.Tensor], wide: bool
    ) -> list:
        """The float outputs of the call, with inputs moved."""
        values = {}
        for name, given in self.call.inputs.items():
            data = self.data[name] + moved.get(name, 0)
            kind = (
                torch.float64 if wide and data.is_floating_point() else getattr(torch, given.dtype)
            )
            values[name] = data.to(kind)
        return flat(eval(text, {"m": module, "torch": torch, **values}))

    def original(self) -> object:
        """The user's module; with its float types widened where the call says so."""
        path = self.folder / self.main
        if not self.call.wide:
            return self.import_fresh(path)
        wide = self.folder / f"{path.stem}_wide.py"
        wide.write_text(FLOATS.sub(r"\1.float64", path.read_text()))
        return self.import_fresh(wide)

    def run(self) -> dict:
        """What became of it; `outcome` says it in a word."""
        try:
            with limited(self.seconds), torch.no_grad():
                self.watch.start(guards=False)
                module = self.original()
                text = self.call.reference or self.call.call
                base = self.evaluate(module, text, {}, self.call.wide)
                plain = self.evaluate(module, self.call.call, {}, self.call.wide)
        except TooLongError:
            return {"outcome": "broken", "detail": "the original does not end"}
        except Exception:
            return {
                "outcome": "broken",
                "detail": "".join(traceback.format_exc().splitlines(True)[-4:]),
            }
        result: dict = {"kernels": sorted(set(self.watch.kernels))}
        outside = dict(self.watch.outside)
        if not base:
            return {**result, "outcome": "broken", "detail": "no float output"}
        if self.written is None:
            return {**result, "outcome": "nothing written"}
        self.finite = [torch.isfinite(output) for output in base]
        self.upstream = [torch.tensor(self.random.uniform(-1, 1, o.shape)) for o in base]
        try:
            with limited(self.seconds), warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                self.watch.start(guards=not outside)
                answer = self.backward(plain)
        except TooLongError:
            return {**result, "outcome": "hang"}
        except Exception as error:
            return {**result, **self.explain(error)}
        if isinstance(answer, str):
            return {**result, "outcome": "wrong", "detail": answer}
        if self.watch.outside and not outside:
            return {**result, "outcome": "wrong", "detail": f"memory: {self.watch.outside}"}
        try:
            with limited(4 * self.seconds):
                found = self.compare(module, text, answer)
        except TooLongError:
            return {**result, "outcome": "broken", "detail": "the differences take too long"}
        ours = [str(w.message) for w in said if w.filename == str(self.written)]
        if found["outcome"] == "wrong" and ours:
            found = {"outcome": "loud", "detail": f"{ours[0]}; {found['detail']}"}
        return {**result, **found}

    def backward(self, plain: list) -> dict[str, torch.Tensor] | str:
        """Gradients by the emitted module, or how its outputs differ from the original's."""
        module = self.import_fresh(self.written)
        leaves, values = self.leaves({n for n, given in self.call.inputs.items() if given.grad})
        outputs = flat(eval(self.call.call, {"m": module, "torch": torch, **values}))
        if len(outputs) != len(plain):
            return f"{len(outputs)} outputs, not {len(plain)}"
        for i, (output, expected) in enumerate(zip(outputs, plain, strict=True)):
            same = torch.allclose(
                output.detach().double(),
                expected.double(),
                rtol=self.tolerance,
                atol=1e-5,
                equal_nan=True,
            )
            if not same:
                return f"output {i} differs from the original's"
        self.no_gradient = [i for i, o in enumerate(outputs) if not o.requires_grad]
        loss = self.loss(outputs)
        if not loss.requires_grad:
            return dict.fromkeys(leaves)
        if not self.call.second:
            loss.backward(retain_graph=True)
            gradients = {name: leaf.grad for name, leaf in leaves.items()}
            wrong = self.twice(loss, leaves, gradients) or self.alone(module, gradients)
            return wrong or gradients
        return self.second(loss, leaves)

    def leaves(self, wanted: set[str]) -> tuple[dict, dict]:
        """The inputs with a gradient, and all values by name."""
        leaves, values = {}, {}
        for name, given in self.call.inputs.items():
            value = self.data[name].detach().to(getattr(torch, given.dtype)).clone()
            if name in wanted:
                leaves[name] = value.requires_grad_(True)
                value = leaves[name] * 1 if given.in_place else leaves[name]
            values[name] = value
        return leaves, values

    def twice(self, loss: torch.Tensor, leaves: dict, gradients: dict) -> str:
        """How a gradient differs that a second backward adds up: from twice the first, each in memory of its own."""
        first = {n: None if g is None else g.detach().clone() for n, g in gradients.items()}
        try:
            loss.backward()
        except RuntimeError as error:
            return "" if "inplace operation" in str(error) else f"a second backward: {error}"
        for name, leaf in leaves.items():
            once, both = first[name], leaf.grad
            gradients[name] = once
            if once is None:
                continue
            if not torch.allclose(both, 2 * once, rtol=1e-3, atol=1e-6, equal_nan=True):
                return f"{name}: a second backward does not add the same"
        return ""

    def alone(self, module: object, gradients: dict) -> str:
        """Where launches depend on what is asked for: how a gradient differs that alone is asked for."""
        if len(gradients) < 2 or "if ctx.needs_input_grad" not in self.written.read_text():
            return ""
        for name, whole in gradients.items():
            leaves, values = self.leaves({name})
            outputs = flat(eval(self.call.call, {"m": module, "torch": torch, **values}))
            loss = self.loss(outputs)
            if loss.requires_grad:
                loss.backward()
            own = leaves[name].grad
            if (own is None) != (whole is None):
                return f"{name}: alone it has {'no' if own is None else 'a'} gradient"
            if own is not None and not torch.allclose(own, whole, rtol=1e-5, equal_nan=True):
                return f"{name}: alone its gradient is another"
        return ""

    def second(self, loss: torch.Tensor, leaves: dict) -> dict:
        """Gradients of the gradients' sum along the directions."""
        first = torch.autograd.grad(
            loss, list(leaves.values()), create_graph=True, allow_unused=True
        )
        along = sum(
            (g * self.directions[n].to(g.dtype)).sum()
            for n, g in zip(leaves, first, strict=True)
            if g is not None
        )
        if not torch.is_tensor(along) or not along.requires_grad:
            return dict.fromkeys(leaves)
        along.backward()
        return {name: leaf.grad for name, leaf in leaves.items()}

    def loss(self, outputs: list) -> torch.Tensor:
        """The outputs against the random upstream, where the original's are finite."""
        terms = [
            (output[finite] * upstream[finite].to(output.dtype)).sum()
            for output, upstream, finite in zip(outputs, self.upstream, self.finite, strict=True)
        ]
        return sum(terms[1:], terms[0].double())

    def explain(self, error: Exception) -> dict:
        """An exception of the emitted module: one of our own sentences, or one that nobody understands."""
        frames = traceback.extract_tb(error.__traceback__)
        last = frames[-1]
        ours = last.filename == str(self.written) and "raise " in (last.line or "")
        once = "once_differentiable" in str(error)
        # PyTorch's own refusal of what it refuses for its own operations, too.
        once = once or "modified by an inplace operation" in str(error)
        once = once or "no autograd formula was registered" in str(error)
        # `tl.static_assert` of an emitted kernel, whose text may go on in further lines.
        asserted = re.search(r"AssertionError\(['\"](.{0,30})", str(error))
        once = once or bool(asserted and asserted[1] in Path(self.written or "").read_text())
        where = f"{Path(last.filename).name}:{last.lineno}"
        outcome = "loud" if ours or once else "exception"
        if isinstance(error, AttributeError) and last.filename == "<string>":
            outcome = "left out"
        return {
            "outcome": outcome,
            "detail": f"{type(error).__name__}: {error} ({where}: {last.line})",
        }

    def difference(self, module: object, text: str, name: str, step: float) -> tuple[float, float]:
        """The derivative along the input's direction, of fourth order, and the size of its terms."""
        total, size = 0.0, 0.0
        for factor, weight in ((1, 8), (-1, -8), (2, -1), (-2, 1)):
            moved = {name: self.directions[name] * (factor * step)}
            with torch.no_grad():
                outputs = self.evaluate(module, text, moved, self.call.wide)
            for output, upstream, finite in zip(outputs, self.upstream, self.finite, strict=True):
                term = (output[finite].double() * upstream[finite]).sum()
                total += float(term) * weight / (12 * step)
                size += float((output[finite].double() * upstream[finite]).abs().sum())
        return total, size

    def second_difference(
        self, module: object, text: str, name: str, step: float
    ) -> tuple[float, float]:
        """The same of the derivative along all directions."""
        total = 0.0
        for a, b in ((1, 1), (1, -1), (-1, 1), (-1, -1)):
            moved = {n: d * (a * step) for n, d in self.directions.items()}
            moved[name] = moved[name] + self.directions[name] * (b * step)
            with torch.no_grad():
                outputs = self.evaluate(module, text, moved, self.call.wide)
            for output, upstream, finite in zip(outputs, self.upstream, self.finite, strict=True):
                total += a * b * float((output[finite].double() * upstream[finite]).sum())
        return total / (4 * step * step), 1e3

    def compare(self, module: object, text: str, gradients: dict) -> dict:
        """Each input's gradient beside differences along its direction."""
        module = self.original()
        wrong, unsettled, worst = [], [], 0.0
        for name, gradient in gradients.items():
            direction = self.directions[name]
            given = torch.zeros_like(direction) if gradient is None else gradient.double()
            found = float((given * direction).sum())
            scale = float((given * direction).abs().sum())
            error, expected = self.error(module, text, name, found, scale)
            if error is None:
                unsettled.append(name)
            elif not error <= 1:
                note = " (no gradient at all)" if gradient is None else ""
                wrong.append(f"{name}: {found:.6g}, differences say {expected:.6g}{note}")
            else:
                worst = max(worst, error)
        if wrong:
            kept = f"; outputs {self.no_gradient} have no gradient" if self.no_gradient else ""
            return {"outcome": "wrong", "detail": "; ".join(wrong) + kept}
        if len(unsettled) == len(gradients):
            return {"outcome": "broken", "detail": "differences settle nowhere"}
        return {"outcome": "right", "worst": worst}

    def error(self, module: object, text: str, name: str, found: float, scale: float) -> tuple:
        """How far `found` is off in parts of what is allowed, and what differences say; None if they don't agree."""
        measure = self.second_difference if self.call.second else self.difference
        least, best = math.inf, math.nan
        for steps in STEPS[self.precision]:
            (a, _), (b, size) = [measure(module, text, name, step) for step in steps]
            if not math.isfinite(a) or not math.isfinite(b):
                continue
            noise = ROUNDING[self.precision] * size / min(steps)
            terms = max(scale, abs(b)) if math.isfinite(scale) else abs(b)
            allowed = self.tolerance * terms + noise + 1e-7
            if abs(a - b) > 5 * allowed:
                continue
            error = min(abs(a - found), abs(b - found)) / allowed
            if math.isnan(best) or error < least:
                least, best = error, b
            if least <= 1 or not math.isfinite(found):
                break
        if math.isnan(best):
            return None, best
        return (least if math.isfinite(least) else math.inf), best
