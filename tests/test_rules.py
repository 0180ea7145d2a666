"""Every derivative rule of the operation table against central differences.

Independent of tad-lsp's own evaluation: the rule's text is evaluated by Python over floats, and the functions
are Python's, or written here from their definitions.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from types import SimpleNamespace

import pytest

from tests.support import optable

INVERSE_STEPS = 200


def inverse(
    function: Callable[[float], float], low: float, high: float
) -> Callable[[float], float]:
    """The inverse of a monotonic function, by bisection."""
    rising = function(high) > function(low)

    def inverted(y: float) -> float:
        a, b = low, high
        for _ in range(INVERSE_STEPS):
            middle = (a + b) / 2
            if (function(middle) < y) == rising:
                a = middle
            else:
                b = middle
        return (a + b) / 2

    return inverted


def integral(function: Callable[[float], float], low: float, high: float, pieces: int) -> float:
    """Simpson's rule."""
    step = (high - low) / pieces
    total = function(low) + function(high)
    for i in range(1, pieces):
        total += function(low + i * step) * (4 if i % 2 else 2)
    return total * step / 3


def bessel_j(order: float, x: float) -> float:
    """Bessel's own integral."""
    return integral(lambda t: math.cos(order * t - x * math.sin(t)), 0, math.pi, 200) / math.pi


def bessel_y(order: float, x: float) -> float:
    """The matching integrals for the second kind, x > 0."""
    first = integral(lambda t: math.sin(x * math.sin(t) - order * t), 0, math.pi, 400)

    def tail(t: float) -> float:
        sign = 1 if int(order) % 2 == 0 else -1
        return (math.exp(order * t) + sign * math.exp(-order * t)) * math.exp(-x * math.sinh(t))

    return (first - integral(tail, 0, 9, 4000)) / math.pi


def bessel_i(order: float, x: float) -> float:
    """The modified function's integral."""
    return (
        integral(lambda t: math.exp(x * math.cos(t)) * math.cos(order * t), 0, math.pi, 200)
        / math.pi
    )


def normal_distribution(x: float) -> float:
    """Phi."""
    return 0.5 * math.erfc(-x / math.sqrt(2))


def root(x: float) -> float:
    """Cube root of either sign."""
    return math.copysign(abs(x) ** (1 / 3), x)


def sigmoid(x: float) -> float:
    """The logistic function."""
    return 1 / (1 + math.exp(-x))


def norm(*vector: float) -> float:
    """Length of a vector."""
    return math.sqrt(sum(v * v for v in vector))


def rounded(x: float) -> float:
    """Nearest whole number, halves to even."""
    return float(round(x))


LIBDEVICE = SimpleNamespace(
    acosh=math.acosh,
    cosh=math.cosh,
    cospi=lambda x: math.cos(math.pi * x),
    sinpi=lambda x: math.sin(math.pi * x),
    cyl_bessel_i0=lambda x: bessel_i(0, x),
    cyl_bessel_i1=lambda x: bessel_i(1, x),
    j0=lambda x: bessel_j(0, x),
    j1=lambda x: bessel_j(1, x),
    jn=bessel_j,
    y0=lambda x: bessel_y(0, x),
    y1=lambda x: bessel_y(1, x),
    yn=bessel_y,
    ldexp=lambda x, n: x * 2.0**n,
    scalbn=lambda x, n: x * 2.0**n,
    pow=math.pow,
    rint=rounded,
    sinh=math.sinh,
    signbit=lambda x: 1 if math.copysign(1, x) < 0 else 0,
    trunc=lambda x: float(math.trunc(x)),
)
# What the rules may call.
LANGUAGE = {
    "exp": math.exp,
    "log": math.log,
    "sqrt": math.sqrt,
    "sin": math.sin,
    "cos": math.cos,
    "where": lambda condition, x, y: x if condition else y,
    "libdevice": LIBDEVICE,
}
# What each row computes, written independently of its VALUE.
FUNCTIONS: dict[str, Callable[..., float]] = {
    "ADD": lambda x, y: x + y,
    "SUB": lambda x, y: x - y,
    "MUL": lambda x, y: x * y,
    "DIV": lambda x, y: x / y,
    "MOD": math.fmod,
    "POW": math.pow,
    "NEG": lambda x: -x,
    "EXP": math.exp,
    "EXP2": lambda x: 2.0**x,
    "LOG": math.log,
    "LOG2": math.log2,
    "SQRT": math.sqrt,
    "SQRT_RN": math.sqrt,
    "RSQRT": lambda x: 1 / math.sqrt(x),
    "SIN": math.sin,
    "COS": math.cos,
    "SIGMOID": sigmoid,
    "ERF": math.erf,
    "ABS": abs,
    "MINIMUM": min,
    "MAXIMUM": max,
    "CLAMP": lambda x, low, high: min(max(x, low), high),
    "WHERE": lambda condition, x, y: x if condition else y,
    "FMA": lambda x, y, z: x * y + z,
    "FDIV": lambda x, y: x / y,
    "DIV_RN": lambda x, y: x / y,
    "TAN": math.tan,
    "TANH": math.tanh,
    "ASIN": math.asin,
    "ACOS": math.acos,
    "ATAN": math.atan,
    "ATAN2": math.atan2,
    "SINH": math.sinh,
    "COSH": math.cosh,
    "ASINH": math.asinh,
    "ACOSH": math.acosh,
    "ATANH": math.atanh,
    "SINPI": LIBDEVICE.sinpi,
    "COSPI": LIBDEVICE.cospi,
    "EXP10": lambda x: 10.0**x,
    "EXPM1": math.expm1,
    "LOG10": math.log10,
    "LOG1P": math.log1p,
    "CBRT": root,
    "RCBRT": lambda x: 1 / root(x),
    "HYPOT": norm,
    "RHYPOT": lambda x, y: 1 / norm(x, y),
    "NORM3D": norm,
    "NORM4D": norm,
    "RNORM3D": lambda *vector: 1 / norm(*vector),
    "RNORM4D": lambda *vector: 1 / norm(*vector),
    "ERFC": math.erfc,
    "ERFCX": lambda x: math.exp(x * x) * math.erfc(x),
    "ERFINV": inverse(math.erf, -6, 6),
    "ERFCINV": inverse(math.erfc, -6, 6),
    "NORMCDF": normal_distribution,
    "NORMCDFINV": inverse(normal_distribution, -9, 9),
    "BESSEL_J0": LIBDEVICE.j0,
    "BESSEL_J1": LIBDEVICE.j1,
    "BESSEL_Y0": LIBDEVICE.y0,
    "BESSEL_Y1": LIBDEVICE.y1,
    "BESSEL_JN": bessel_j,
    "BESSEL_YN": bessel_y,
    "BESSEL_I0": LIBDEVICE.cyl_bessel_i0,
    "BESSEL_I1": LIBDEVICE.cyl_bessel_i1,
    "FMOD": math.fmod,
    "REMAINDER": math.remainder,
    "FDIM": lambda x, y: max(x - y, 0.0),
    "COPYSIGN": math.copysign,
    "NEXTAFTER": lambda x, y: x,
    "SATURATE": lambda x: min(max(x, 0.0), 1.0),
    "LDEXP": LIBDEVICE.ldexp,
    "SCALBN": LIBDEVICE.scalbn,
    "RECIPROCAL_HIGH": lambda x: 1 / x,
    "TO_TENSOR": lambda x: x,
}
for MODE in ("RD", "RN", "RU", "RZ"):
    FUNCTIONS |= {
        f"ADD_{MODE}": lambda x, y: x + y,
        f"SUB_{MODE}": lambda x, y: x - y,
        f"MUL_{MODE}": lambda x, y: x * y,
        f"DIV_{MODE}": lambda x, y: x / y,
        f"SQRT_{MODE}": math.sqrt,
        f"RECIPROCAL_{MODE}": lambda x: 1 / x,
        f"FMA_{MODE}": lambda x, y, z: x * y + z,
        f"DOUBLE_TO_FLOAT_{MODE}": lambda x: x,
    }
# Operands that are no floats: what they are tried with.
DISCRETE = {
    ("WHERE", 0): (0, 1),
    ("BESSEL_JN", 0): (1, 2, 3),
    ("BESSEL_YN", 0): (1, 2),
    ("LDEXP", 1): (-2, 3),
    ("SCALBN", 1): (-2, 3),
}
# Off the kinks and off each other, inside and outside of [-1, 1].
POINTS = (-2.41, -0.62, 0.37, 0.83, 1.61, 3.28)
# Rules about shapes and memory, which the differentiator's own tests check.
NOT_ELEMENTWISE = {
    "BROADCAST_TO",
    "CUMSUM",
    "DOT",
    "EXPAND_DIMS",
    "EXPECT_ZERO",
    "FLIP",
    "FULL",
    "MAX_CONSTANCY",
    "MAX_CONTIGUOUS",
    "MULTIPLE_OF",
    "RESHAPE",
    "SCALAR_OF",
    "SQUEEZE",
    "SUM",
    "VIEW",
}
ROWS = {row.id: row for row in optable.rows()}
RULED = [row.id for row in ROWS.values() if row.rules() and row.id not in NOT_ELEMENTWISE]


def data_parameters(row: optable.Row) -> list[str]:
    """Parameters without a default."""
    return [parameter.name for parameter in row.parameters if parameter.default is None]


def difference(
    function: Callable[..., float], point: tuple[float, ...], index: int
) -> float | None:
    """Central difference in one operand, None where the function is not defined."""
    step = 1e-5
    above = [*point[:index], point[index] + step, *point[index + 1 :]]
    below = [*point[:index], point[index] - step, *point[index + 1 :]]
    try:
        return (function(*above) - function(*below)) / (2 * step)
    except (ValueError, ZeroDivisionError, OverflowError):
        return None


def points(row: optable.Row) -> list[tuple[float, ...]]:
    """Tuples of operands, no two alike: where operands meet there are kinks."""
    names = data_parameters(row)
    choices = [DISCRETE.get((row.id, i), POINTS) for i in range(len(names))]
    return [point for point in itertools.product(*choices) if len(set(point)) == len(point)]


def is_defined(function: Callable[..., float], point: tuple[float, ...], row_id: str) -> bool:
    """Whether the function is real and of moderate size there."""
    if row_id in ("BESSEL_YN", "BESSEL_Y0", "BESSEL_Y1") and point[-1] <= 0:
        return False
    try:
        value = function(*point)
    except (ValueError, ZeroDivisionError, OverflowError):
        return False
    bounded = (
        abs(value) < 5.9 if row_id in ("ERFINV", "ERFCINV", "NORMCDFINV") else abs(value) < 1e4
    )
    return not isinstance(value, complex) and bounded


def test_every_rule_is_checked() -> None:
    """A new rule needs a reference here, or a place among the rules about shapes."""
    assert [row_id for row_id in RULED if row_id not in FUNCTIONS] == []
    assert [row_id for row_id in FUNCTIONS if row_id not in ROWS] == []
    assert len(RULED) > 90


@pytest.mark.parametrize("row_id", RULED)
def test_rule_is_the_derivative(row_id: str) -> None:
    """For each operand: its rule with grad = 0.7 is 0.7 times the central difference."""
    row, function = ROWS[row_id], FUNCTIONS[row_id]
    names, rules = data_parameters(row), row.rules()
    checked = 0
    for point in points(row):
        if not is_defined(function, point, row_id):
            continue
        variables = dict(zip(names, point, strict=True)) | {"grad": 0.7, "result": function(*point)}
        for index, name in enumerate(names):
            slope = difference(function, point, index)
            if slope is None or (row_id, index) in DISCRETE:
                continue
            rule = rules.get(name, "0.0 * grad")
            try:
                actual = eval(rule, dict(LANGUAGE), variables)
            except ValueError:
                continue  # pow: the logarithm of a negative number, NaN in a tile
            assert actual == pytest.approx(0.7 * slope, rel=2e-5, abs=2e-6), (name, point, rule)
            checked += 1
    assert checked >= 2


@pytest.mark.parametrize("row_id", ["MAXIMUM", "MINIMUM"])
def test_ties_are_shared(row_id: str) -> None:
    """PyTorch's convention."""
    variables = {"x": 1.5, "y": 1.5, "grad": 1.0, "result": 1.5}
    for rule in ROWS[row_id].rules().values():
        assert eval(rule, dict(LANGUAGE), variables) == 0.5


def test_edges_of_clamp_abs_and_pow() -> None:
    """The boundary passes, the sign of 0 is 0, a constant power has slope 0."""
    clamp = ROWS["CLAMP"].rules()
    edge = {"x": 1.0, "min": 1.0, "max": 2.0, "grad": 1.0, "result": 1.0}
    assert eval(clamp["x"], dict(LANGUAGE), edge) == 1.0
    assert eval(clamp["min"], dict(LANGUAGE), edge) == 0.0
    assert eval(ROWS["ABS"].rules()["x"], dict(LANGUAGE), {"x": 0.0, "grad": 1.0}) == 0.0
    power = ROWS["POW"].rules()
    assert (
        eval(power["arg0"], dict(LANGUAGE), {"arg0": 3.0, "arg1": 0, "grad": 1.0, "result": 1.0})
        == 0.0
    )
