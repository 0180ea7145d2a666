"""Makes Triton's interpreter agree with its compiler where it does not, in child processes only.

The interpreter keeps bfloat16 as raw 16-bit integers and computes with those; here such operands are
widened to float32 and results rounded to nearest even.  libdevice functions, which it refuses, become
NumPy's.  A scalar condition and a mask give a mask.  A float64 product with a float32 accumulator is float64;
the compiler refuses it in a loop.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import math
from collections.abc import Callable

import numpy as np

from tests.support.fake_dtype import float32_to_bfloat16

ROUNDED = """fadd fmul fdiv frem fsub fneg precise_divf approx_divf minimumf minnumf maximumf maxnumf
fma clampf cos exp exp2 floor ceil log log2 precise_sqrt sqrt sin erf rsqrt""".split()
COMPARED = "OLT OGT OLE OGE OEQ ONE ULT UGT ULE UGE UEQ UNE".split()


def vectorized(function: Callable[..., float]) -> Callable[..., np.ndarray]:
    """A function of floats for arrays; domain errors give NaN."""

    def safe(*values: float) -> float:
        try:
            return function(*(float(v) for v in values))
        except (ValueError, OverflowError):
            return math.nan

    return np.vectorize(safe, otypes=[np.float64])


def inverse_erf(x: np.ndarray) -> np.ndarray:
    """erf's inverse by Newton's steps from a rational start."""
    x = np.asarray(x, dtype=np.float64)
    w = np.log1p(-np.minimum(x * x, 1 - 1e-16))
    t = 2 / (math.pi * 0.147) + w / 2
    y = np.sign(x) * np.sqrt(np.sqrt(t * t - w / 0.147) - t)
    for _ in range(4):
        slope = 2 / math.sqrt(math.pi) * np.exp(-y * y)
        y = y - (vectorized(math.erf)(y) - x) / np.maximum(slope, 1e-300)
    return np.where(np.abs(x) == 1, np.sign(x) * np.inf, y)


def normal_distribution(x: np.ndarray) -> np.ndarray:
    """The cumulative normal distribution."""
    return 0.5 * vectorized(math.erfc)(-np.asarray(x) / math.sqrt(2))


def round_away(x: np.ndarray) -> np.ndarray:
    """Rounds halves away from zero, as C does."""
    return np.where(np.isfinite(x), np.trunc(x + np.copysign(0.5, x)), x)


# By libdevice's symbol without `__nv_` and without the `f` of the float32 variant.
LIBDEVICE: dict[str, Callable[..., np.ndarray]] = {
    "abs": np.abs, "fabs": np.abs, "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc,
    "rint": np.rint, "nearbyint": np.rint, "llrint": np.rint, "round": round_away,
    "llround": round_away, "rsqrt": lambda x: 1 / np.sqrt(x), "sqrt": np.sqrt, "cbrt": np.cbrt,
    "rcbrt": lambda x: 1 / np.cbrt(x), "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1,
    "exp10": lambda x: 10.0**x, "log": np.log, "log2": np.log2, "log10": np.log10,
    "log1p": np.log1p, "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin,
    "acos": np.arccos, "atan": np.arctan, "atan2": np.arctan2, "sinh": np.sinh, "cosh": np.cosh,
    "tanh": np.tanh, "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh,
    "sinpi": lambda x: np.sin(math.pi * x), "cospi": lambda x: np.cos(math.pi * x),
    "erf": vectorized(math.erf), "erfc": vectorized(math.erfc), "erfinv": inverse_erf,
    "erfcinv": lambda x: inverse_erf(1 - x), "normcdf": normal_distribution,
    "erfcx": lambda x: np.exp(x * x) * vectorized(math.erfc)(x),
    "normcdfinv": lambda x: math.sqrt(2) * inverse_erf(2 * x - 1),
    "lgamma": vectorized(math.lgamma), "tgamma": vectorized(math.gamma), "pow": np.power,
    "powi": np.power, "fmod": np.fmod, "remainder": np.vectorize(math.remainder),
    "copysign": np.copysign, "nextafter": np.nextafter, "hypot": np.hypot,
    "rhypot": lambda x, y: 1 / np.hypot(x, y), "fdim": lambda x, y: np.maximum(x - y, 0),
    "fma": lambda x, y, z: x * y + z, "ldexp": np.ldexp, "scalbn": np.ldexp, "logb": np.log2,
    "isnan": np.isnan, "isinf": np.isinf, "finite": np.isfinite, "isfinited": np.isfinite,
    "signbit": np.signbit, "max": np.maximum, "min": np.minimum, "saturate":
    lambda x: np.clip(x, 0, 1), "fast_sin": np.sin, "fast_cos": np.cos, "fast_tan": np.tan,
    "fast_exp": np.exp, "fast_exp10": lambda x: 10.0**x, "fast_log": np.log, "fast_log2": np.log2,
    "fast_log10": np.log10, "fast_pow": np.power, "fast_fdivide": np.divide,
    "norm3d": lambda x, y, z: np.sqrt(x * x + y * y + z * z),
    "rnorm3d": lambda x, y, z: 1 / np.sqrt(x * x + y * y + z * z),
}  # fmt: skip
# Operations with a named rounding mode: __nv_fadd_rn, __nv_ddiv_rz, ...
ARITHMETIC = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "sqrt": np.sqrt,
    "rcp": lambda x: 1 / x, "ma": lambda x, y, z: x * y + z, "rsqrt": lambda x: 1 / np.sqrt(x),
}  # fmt: skip


def numpy_of(symbol: str) -> Callable[..., np.ndarray]:
    """The NumPy function of a libdevice symbol."""
    name = symbol.removeprefix("__nv_")
    for candidate in (name, name.removesuffix("f"), name.removesuffix("d")):
        function = LIBDEVICE.get(candidate)
        if function is not None:
            return function
    base, _, rounding = name.partition("_")
    if rounding in ("rn", "rz", "rd", "ru") and base[1:] in ARITHMETIC:
        return ARITHMETIC[base[1:]]
    raise NotImplementedError(f"libdevice function {symbol} is not known to the tests' interpreter")


def apply() -> None:
    """Patches the interpreter of this process; call once, after TRITON_INTERPRET is set."""
    import triton.language as tl
    from triton.runtime import interpreter
    from triton.runtime.autotuner import Autotuner

    builder = interpreter.InterpreterBuilder
    fix_bfloat16(builder, interpreter, tl)
    fix_masks(builder, interpreter.TensorHandle, tl)
    fix_libdevice(builder, interpreter)
    # One configuration instead of a benchmark: nothing here has a time worth measuring.
    prune = Autotuner.prune_configs
    Autotuner.prune_configs = lambda self, *a, **k: prune(self, *a, **k)[:1]


def fix_bfloat16(builder: type, interpreter: object, tl: object) -> None:
    """Widens bfloat16 operands of every arithmetic operation."""
    handle_type = interpreter.TensorHandle  # type: ignore[attr-defined]
    bfloat16, float32 = tl.bfloat16, tl.float32  # type: ignore[attr-defined]

    def is_narrow(value: object) -> bool:
        return isinstance(value, handle_type) and value.dtype.scalar == bfloat16

    def widen(value: object) -> object:
        if not is_narrow(value):
            return value
        bits = np.ascontiguousarray(value.data).astype(np.uint32) << 16  # type: ignore[attr-defined]
        return handle_type(bits.view(np.float32), float32)

    def narrow(value: object) -> object:
        data = np.asarray(value.data, dtype=np.float32)  # type: ignore[attr-defined]
        return handle_type(float32_to_bfloat16(data), bfloat16)

    def wrap(name: str, rounds: bool) -> None:
        before = getattr(builder, name, None)
        if before is None:
            return

        @functools.wraps(before)
        def operation(self: object, *arguments: object, **keywords: object) -> object:
            any_narrow = any(map(is_narrow, arguments))
            result = before(self, *map(widen, arguments), **keywords)
            return narrow(result) if rounds and any_narrow else result

        setattr(builder, name, operation)

    for name in ROUNDED:
        wrap(f"create_{name}", rounds=True)
    for name in COMPARED:
        wrap(f"create_fcmp{name}", rounds=False)
    wrap("create_dot", rounds=False)
    fix_float64_dot(builder, handle_type, tl)

    cast_before = builder.cast_impl  # type: ignore[attr-defined]

    def cast_impl(self: object, source: object, target: object) -> object:
        into = target.scalar  # type: ignore[attr-defined]
        if is_narrow(source) and into == bfloat16:
            return source
        wide = widen(source)
        if into == bfloat16:
            return narrow(wide)
        return cast_before(self, wide, target)

    builder.cast_impl = cast_impl  # type: ignore[attr-defined]

    scan_base = interpreter.ReduceScanOpInterface  # type: ignore[attr-defined]
    for kind in (interpreter.ReduceOps, interpreter.ScanOps):  # type: ignore[attr-defined]
        wrap_reduction(kind, scan_base, widen, narrow, is_narrow, tl)


def fix_masks(builder: type, handle_type: type, tl: object) -> None:
    """A scalar condition stays one where it meets a mask; the interpreter makes integers of it."""
    before = builder.create_splat  # type: ignore[attr-defined]
    int1 = tl.int1  # type: ignore[attr-defined]

    def create_splat(self: object, kind: object, value: object) -> object:
        if value.data.dtype == np.bool_:  # type: ignore[attr-defined]
            value = handle_type(value.data, int1)  # type: ignore[attr-defined]
        return before(self, kind, value)

    builder.create_splat = create_splat  # type: ignore[attr-defined]


def fix_float64_dot(builder: type, handle_type: type, tl: object) -> None:
    """A product of float64 matrices is float64, as its type says, whatever the accumulator was."""
    before = builder.create_dot  # type: ignore[attr-defined]
    float64 = tl.float64  # type: ignore[attr-defined]

    def create_dot(self: object, a: object, b: object, d: object, *rest: object) -> object:
        if a.dtype.scalar == float64:  # type: ignore[attr-defined]
            d = handle_type(d.data.astype(np.float64), float64)  # type: ignore[attr-defined]
        return before(self, a, b, d, *rest)

    builder.create_dot = create_dot  # type: ignore[attr-defined]


def wrap_reduction(
    kind: type,
    base: type,
    widen: Callable[[object], object],
    narrow: Callable[[object], object],
    is_narrow: Callable[[object], bool],
    tl: object,
) -> None:
    """Reductions and scans of bfloat16 run in float32 and are rounded once."""
    before = kind.apply_impl  # type: ignore[attr-defined]
    tensor = tl.core.tensor  # type: ignore[attr-defined]

    def apply_impl(self: object, given: tuple[object, ...]) -> object:
        was = [is_narrow(t.handle) for t in given]  # type: ignore[attr-defined]
        if not any(was):
            return before(self, given)
        wide = tuple(
            tensor(widen(t.handle), with_element(t.type, tl.float32)) if n else t  # type: ignore
            for t, n in zip(given, was, strict=True)
        )
        result = before(self, wide)
        parts = result if isinstance(result, list | tuple) else [result]
        out = [
            tensor(narrow(t.handle), with_element(t.type, tl.bfloat16)) if n else t  # type: ignore
            for t, n in zip(parts, was, strict=False)
        ]
        out += parts[len(out) :]
        return out if isinstance(result, list | tuple) else out[0]

    kind.apply_impl = apply_impl  # type: ignore[attr-defined]


def with_element(kind: object, element: object) -> object:
    """A block type with another element, or the element itself for a scalar."""
    if kind.is_block():  # type: ignore[attr-defined]
        return kind.with_element_ty(element)  # type: ignore[attr-defined]
    return element


def fix_libdevice(builder: type, interpreter: object) -> None:
    """Gives libdevice functions a meaning in the interpreter."""
    handle_type = interpreter.TensorHandle  # type: ignore[attr-defined]
    numpy_dtype = interpreter._get_np_dtype  # type: ignore[attr-defined]
    semantic = interpreter.interpreter_semantic  # type: ignore[attr-defined]

    def create(
        self: object,
        library: str,
        path: str,
        symbol: str,
        arguments: list,
        result: object,
        *_: object,
    ) -> object:
        function = numpy_of(symbol)
        scalar = result.scalar  # type: ignore[attr-defined]
        with np.errstate(all="ignore"):
            data = np.asarray(function(*(a.data for a in arguments)))
        return handle_type(data.astype(numpy_dtype(scalar)), scalar)

    builder.create_extern_elementwise = create  # type: ignore[attr-defined]
    real = importlib.import_module("triton.language.extra.cuda.libdevice")
    neutral = importlib.import_module("triton.language.extra.libdevice")
    for name, function in list(vars(real).items()):
        if inspect.isfunction(function) and not name.startswith("_"):
            bound = functools.partial(function, _semantic=semantic)
            setattr(real, name, bound)
            setattr(neutral, name, bound)
