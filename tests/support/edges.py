"""Kernels at the edge of each limit of analysis/ir/limits.h: one below, at it, one beyond, and far beyond."""

from __future__ import annotations

import re
from pathlib import Path

LIMITS = Path(__file__).resolve().parents[2] / "analysis/ir/limits.h"
HEAD = "import torch\nimport triton\nimport triton.language as tl\n"
OFFSETS = "o = tl.program_id(0) * B + tl.arange(0, B)"
LOAD = "x = tl.load(x_ptr + o, mask=o < n, other=0.0)"
STORE = "tl.store(y_ptr + o, x * x, mask=o < n)"


def limits() -> dict[str, int]:
    """What limits.h says."""
    text = re.sub(r"//[^\n]*|/\*.*?\*/", "", LIMITS.read_text(encoding="utf-8"), flags=re.DOTALL)
    found: dict[str, int] = {}
    for name, value in re.findall(r"(\w+) = ([^,]+),", text):
        found[name] = eval(value, {}, found)
    return found


def block(lines: list[str], indent: int = 1) -> str:
    return "".join("    " * indent + line + "\n" for line in lines)


def kernel(name: str, lines: list[str], extra: str = "") -> str:
    parameters = f"x_ptr, y_ptr, n, {extra}{', ' if extra else ''}B: tl.constexpr"
    return f"\n\n@triton.jit\ndef {name}({parameters}):\n{block(lines)}"


def launcher(name: str, steps: list[str], given: str = "", grid: str = "(1,)") -> str:
    call = f"{name}[{grid}](x, y, n, {given}{', ' if given else ''}B=16)"
    first = ["n = x.numel()", "y = torch.empty_like(x)"]
    return f"\n\ndef launch_{name}(x, a=1, b=2):\n{block([*first, *steps, call, 'return y'])}"


def numbered(pattern: str, count: int, between: str = ", ") -> str:
    return between.join(pattern.format(i=i) for i in range(count))


def nested(openings: list[str], inner: list[str]) -> list[str]:
    depth = len(openings)
    lines = ["    " * i + opening for i, opening in enumerate(openings)]
    return lines + ["    " * depth + line for line in inner]


def rank(name: str, n: int) -> str:
    index, shared = ", ".join(["None"] * (n - 1) + [":"]), f"axis={n - 1}, keep_dims=True"
    return kernel(
        name,
        [
            f"i = tl.arange(0, B)[{index}]",
            "x = tl.load(x_ptr + i, mask=i < n, other=0.0)",
            f"e = tl.exp(x - tl.max(x, {shared}))",
            f"tl.store(y_ptr + i, e / tl.sum(e, {shared}), mask=i < n)",
        ],
    )


def grid(name: str, n: int) -> str:
    ids = [f"o += tl.program_id({i})" for i in range(1, min(n, 3))]
    axes = ", ".join(["1"] * n)
    text = kernel(name, [OFFSETS, *ids, LOAD, STORE])
    return text + launcher(name, [], grid=f"({axes},)") + launcher(name, [], grid=axes)


def loops(name: str, n: int) -> str:
    openings = [f"for i{k} in range(n):" for k in range(n)]
    return kernel(name, [OFFSETS, LOAD, *nested(openings, ["x = x * 1.5"]), STORE])


def regions(name: str, n: int) -> str:
    """A weight that all programs add to, below loops and branches."""
    openings = ["for i in range(n):" if k % 20 == 9 else f"if n > {k}:" for k in range(n - 1)]
    inner = ["w = tl.load(w_ptr + tl.arange(0, B))", "tl.store(y_ptr + o, x * w, mask=o < n)"]
    return kernel(name, [OFFSETS, LOAD, *nested(openings, inner)], "w_ptr")


def access_axes(name: str, n: int) -> str:
    ids = [f"p{k} = tl.program_id({k})" for k in range(3)]
    openings = [f"for i{k} in range({2 if k < 3 else 1}):" for k in range(max(n - 3, 0))]
    last = f"i{n - 4}" if n > 3 else "0"
    inner = [f"a = ((p2 * 4 + p1) * 4 + p0) * 16 + {last} * 4 + tl.arange(0, 4)"]
    inner += ["tl.store(y_ptr + a, tl.load(x_ptr + a) * n)"]
    return kernel(name, [*ids, *nested(openings, inner)])


def movers(name: str, n: int) -> str:
    digits = numbered("p // 1{i} % 2 * s{i}", n, " + ")
    lines = ["p = tl.program_id(0)", f"o = {digits} + tl.arange(0, B)", LOAD, STORE]
    return kernel(name, lines, numbered("s{i}", n))


def wraps(name: str, n: int) -> str:
    whole = numbered("(o + {i}) % m{i}", n, " + ")
    lines = [OFFSETS, f"x = tl.load(x_ptr + {whole})", STORE]
    return kernel(name, lines, numbered("m{i}", n))


def digits_of_an_index(name: str, n: int) -> str:
    """Bits of one number, each with a stride of its own."""
    digits = " + ".join(f"o // {2**k} % 2 * s{k % 3}" for k in range(n))
    lines = [OFFSETS, f"x = tl.load(x_ptr + {digits})", STORE]
    return kernel(name, lines, "s0, s1, s2")


def digits_of_an_id(name: str, n: int) -> str:
    """An id that numbers so many things, of which every second one shares what it loads."""
    lines = ["rest = tl.program_id(0)", "place = 0"]
    for k in range(n):
        lines += [f"d{k} = rest % s{k % 3}", f"rest //= s{k % 3}"]
        lines += [f"place = place * s{k % 3} + d{k}"] if k % 2 == 0 else []
    lines += ["o = tl.arange(0, B)", "x = tl.load(x_ptr + place * B + o)"]
    lines += ["tl.store(y_ptr + tl.program_id(0) * B + o, x * x)"]
    return kernel(name, lines, "s0, s1, s2")


def ends_of_digits(name: str, n: int) -> str:
    """Digits that begin and end at places of their own."""
    digits = " + ".join(f"o // {2 * k + 1} % {2 * k + 3} * s{k % 3}" for k in range(n))
    lines = [OFFSETS, f"x = tl.load(x_ptr + {digits})", STORE]
    return kernel(name, lines, "s0, s1, s2")


def mask_parts(name: str, n: int) -> str:
    mask = numbered("(o < n - {i})", n, " & ")
    lines = [OFFSETS, f"m = {mask}", "x = tl.load(x_ptr + o, mask=m, other=0.0)"]
    return kernel(name, [*lines, "tl.store(y_ptr + o, x * x, mask=m)"])


def bounds(name: str, n: int) -> str:
    loads = [f"x += tl.load(x_ptr + o + {i}, mask=o + {i} < n - {i}, other=0.0)" for i in range(n)]
    return kernel(name, [OFFSETS, LOAD, *loads, STORE])


def meetings(name: str, n: int) -> str:
    """Dims that have to be equal, and a launch in which they are not."""
    sums = [f"x += tl.sum(tl.arange(0, P{i}) + tl.arange(0, Q{i}))" for i in range(n)]
    text = kernel(
        name, [OFFSETS, LOAD, *sums, STORE], numbered("P{i}: tl.constexpr, Q{i}: tl.constexpr", n)
    )
    return text + launcher(name, [], numbered("P{i}=16, Q{i}=32", n))


def slots(name: str, n: int) -> str:
    """What a mask along the first of n - 1 axes leaves out is no number, and is summed in a gradient."""
    spread = "[:, " + ", ".join(["None"] * (n - 2)) + "]"
    lines = [OFFSETS.replace("o =", "p ="), f"m = (p < n){spread}"]
    lines += [f"o = p{spread} * 2 + tl.arange(0, 2)[{', '.join(['None'] * (n - 2))}, :]"]
    lines += ["x = tl.load(x_ptr + o, mask=m, other=0.0)", "s = tl.load(s_ptr)", "r = 1.0 / x"]
    return kernel(name, [*lines, "tl.store(y_ptr + o, r * r * s, mask=m)"], "s_ptr")


def alias_numbers(name: str, n: int) -> str:
    steps = numbered("s{i}", n, " + ")
    lines = [OFFSETS, f"x = tl.load(x_ptr + o * ({steps}))", f"tl.store(z_ptr + o * ({steps}), x)"]
    text = kernel(name, [*lines, STORE], "z_ptr, " + numbered("s{i}", n))
    return text + launcher(name, [], "x, " + numbered("a", n))


def stored_digits(name: str, n: int) -> str:
    openings = [f"for i{k} in range({1 + k % 2}):" for k in range(n - 4)]
    digits = "".join(f" + i{k} * {2**k * 16}" for k in range(n - 4))
    inner = [f"a = o{digits}", "tl.store(y_ptr + a, tl.load(x_ptr + a) * 2.0)"]
    return kernel(name, [OFFSETS, *nested(openings, inner)])


def stored_cuts(name: str, n: int) -> str:
    mask = numbered("(o < n - {i})", n, " & ")
    return kernel(name, [OFFSETS, f"m = {mask}", "tl.store(y_ptr + o, tl.load(x_ptr + o, m), m)"])


def stored_splits(name: str, n: int) -> str:
    """A program's id in `n + 1` digits, each by one division more."""
    digits = "".join(f" + p // {2**k} % 2 * s{k % 3}" for k in range(n)) + f" + p // {2**n} * s0"
    address = f"a = tl.arange(0, B){digits}"
    lines = ["p = tl.program_id(0)", address, "tl.store(y_ptr + a, tl.load(x_ptr + a) * 2.0)"]
    return kernel(name, lines, "s0, s1, s2")


def stores(name: str, n: int) -> str:
    """Each load is a store to the gradient's buffer."""
    loads = [f"x += tl.load(x_ptr + {i} * n + o, mask=o < n, other=0.0)" for i in range(1, n)]
    return kernel(name, [OFFSETS, LOAD, *loads, STORE])


def index_parts(name: str, n: int) -> str:
    terms = numbered("a{i}", n, " + ")
    lines = [f"o = ({terms}) - ({terms} - 1 - tl.program_id(0)) + tl.arange(0, B)", LOAD, STORE]
    return kernel(name, lines, numbered("a{i}", n))


def operands(name: str, n: int) -> str:
    lines = [OFFSETS, f"x = tl.load(x_ptr + o, {numbered('None', n - 1)})", STORE]
    return kernel(name, lines)


def elementwise(name: str, n: int) -> str:
    lines = [OFFSETS, LOAD, f"x = tl.fma({numbered('x', n)})", f"x = tl.where({numbered('x', n)})"]
    return kernel(name, [*lines, STORE])


def combined(name: str, n: int) -> str:
    names = f"{numbered('a{i}', n)}, {numbered('b{i}', n)}"
    sums = numbered("a{i} + b{i}", n) + ("," if n == 1 else "")
    text = f"\n\n@triton.jit\ndef add_{name}({names}):\n    return {sums}\n"
    given = "(" + numbered("x * {i}.0,", n, " ") + ")"
    store = f"tl.store(y_ptr + o, x * t[{n - 1}], mask=o < n)"
    for way in ("reduce", "associative_scan"):
        lines = [OFFSETS, LOAD, f"t = tl.{way}({given}, 0, add_{name})", store]
        text += kernel(f"{name}_{way}", lines)
    return text


def combine_constants(name: str, n: int) -> str:
    clipped = "a + b"
    for i in range(n):
        clipped = f"tl.minimum({clipped}, {2.0 + 3 * i})"
    helper = f"\n\n@triton.jit\ndef clip_{name}(a, b):\n    return {clipped}\n"
    lines = [OFFSETS, LOAD, f"t = tl.reduce(x, 0, clip_{name})", "x = x * t", STORE]
    return helper + kernel(name, lines)


def reductions(name: str, n: int) -> str:
    """Weights, each of columns of its own that every row's program goes through."""
    lines = ["p = tl.program_id(0)"]
    for i in range(n):
        inner = ["c = k + tl.arange(0, B)"]
        inner += [f"v = tl.load(x_ptr + p * n + c, mask=c < m{i}, other=0.0)"]
        inner += [f"w = tl.load(w{i}_ptr + c, mask=c < m{i}, other=0.0)"]
        inner += [f"tl.store(y_ptr + (p * {n} + {i}) * n + c, v * w, mask=c < m{i})"]
        lines += nested([f"for k in range(0, m{i}, B):"], inner)
    return kernel(name, lines, numbered("w{i}_ptr, m{i}", n))


def parameters(name: str, n: int) -> str:
    count = n - 4
    lines = [OFFSETS, LOAD, f"x = x * (a0 + a{count - 1})", STORE]
    return kernel(name, lines, numbered("a{i}", count))


def choices(name: str, n: int) -> str:
    branches = [line for i in range(n) for line in (f"if M == {i}:", f"    x = x * {i + 1}.0")]
    return kernel(name, [OFFSETS, LOAD, *branches, STORE], "M: tl.constexpr")


def sizes(name: str, n: int) -> str:
    body = [line for i in range(n) for line in (f"for k in range(m{i}):", "    x = x * 1.01")]
    return kernel(name, [OFFSETS, LOAD, *body, STORE], numbered("m{i}", n))


def strides(name: str, n: int) -> str:
    where = numbered("(tl.arange(0, 2) + {i}) * s{i}", n, " + ")
    lines = [f"x = tl.load(x_ptr + {where})", f"tl.store(y_ptr + {where}, x * x)"]
    return kernel(name, lines, numbered("s{i}", n))


def items(name: str, n: int) -> str:
    lines = [OFFSETS, LOAD, f"x = x * T[{n - 1}]", STORE]
    return kernel(name, lines, "T: tl.constexpr") + launcher(name, [], f"({numbered('{i}', n)},)")


def assembly(text: str, constraints: str, arguments: int, packed: int = 1):
    call = f"tl.inline_asm_elementwise({text!r}, {constraints!r}, [{numbered('x', arguments)}]"
    return [OFFSETS, LOAD, f"x = {call}, tl.float32, True, {packed})", STORE]


def registers(name: str, n: int) -> str:
    moves = numbered("mov.f32 r{i}, $1;", n, " ")
    text = f"{{ .reg .f32 r<{n}>; {moves} mul.f32 $0, r0, r{n - 1}; }}"
    return kernel(name, assembly(text, "=r,r", 1))


def assembly_arguments(name: str, n: int) -> str:
    return kernel(name, assembly(f"mul.f32 $0, $1, ${n};", "=r" + ",r" * n, n))


def packed(name: str, n: int) -> str:
    text = " ".join(f"mul.f32 ${i}, ${i + n}, 0f40000000;" for i in range(n))
    return kernel(name, assembly(text, ",".join(["=r"] * n + ["r"] * n), 1, n))


def words(name: str, n: int) -> str:
    rounding = ".rn" * max(n - 2, 0)
    return kernel(name, assembly(f"mul{rounding}.f32 $0, $1, $1;", "=r,r", 1))


def assembly_operands(name: str, n: int) -> str:
    return kernel(name, assembly(f"fma.rn.f32 $0, {numbered('$1', n - 1)};", "=r,r", 1))


def zipped(name: str, n: int) -> str:
    steps = [f"for t in zip({numbered('[1, {i}]', n)}):", "    n = n + t[0]"]
    return kernel(name, [OFFSETS, LOAD, STORE]) + launcher(name, steps)


def pieces(name: str, n: int) -> str:
    steps = [f"x = x.reshape(-1).chunk({n})[-1]", "y = torch.empty_like(x)"]
    steps += [f"x = torch.split(x, [{numbered('1', n)}])[{n - 1}]", f"x = x.unbind(0)[{n - 1}]"]
    return kernel(name, [OFFSETS, LOAD, STORE]) + launcher(name, steps)


def leaves(name: str, n: int) -> str:
    given = f"def launch_{name}(x, {numbered('w{i}', n - 1)}, "
    text = launcher(name, [f"n = n + {numbered('w{i}.shape[0]', n - 1, ' + ')}"])
    return kernel(name, [OFFSETS, LOAD, STORE]) + text.replace(f"def launch_{name}(x, ", given)


def condition(pattern: str, between: str, end: str):
    def made(name: str, n: int) -> str:
        given = f"def launch_{name}(x, {numbered('c{i}', n)}, "
        text = launcher(name, [f"assert {numbered(pattern, n, between)}{end}"])
        return kernel(name, [OFFSETS, LOAD, STORE]) + text.replace(f"def launch_{name}(x, ", given)

    return made


def version(name: str, n: int) -> str:
    compared = f"tuple(int(v) for v in triton.__version__.split('.')) >= ({numbered('3', n)},)"
    text = f"\n\nLATE_{name} = {compared}\nif triton.__version__ >= '{numbered('3', n, '.')}':\n"
    text += f"    SCALE_{name} = tl.constexpr(2)\nelse:\n    SCALE_{name} = tl.constexpr(3)\n"
    return text + kernel(name, [OFFSETS, LOAD, f"x = x * SCALE_{name}", STORE])


def dotted(name: str, n: int) -> str:
    return kernel(name, [OFFSETS, LOAD, f"x = tl.{numbered('a{i}', n - 1, '.')}(x)", STORE])


def brackets(name: str, n: int) -> str:
    value = "tl.exp(" * n + "x" + ")" * n
    return kernel(name, [OFFSETS, LOAD, f"x = {value}", STORE])


def walk(name: str, n: int) -> str:
    lines = [f"v{i} = v{i - 1} + v{i - 2}" for i in range(2, n)]
    return kernel(name, [OFFSETS, LOAD, "v0 = x", "v1 = x * x", *lines, f"x = v{n - 1}", STORE])


def stages(name: str, n: int) -> str:
    """A number that the launches of the file choose between."""
    lines = [OFFSETS, LOAD, "for i in range(0, S, 1):\n        x = x * 0.5"]
    lines += ["for i in range(S, 2 * S, 1):\n        x = x + 1.0", STORE]
    text = kernel(name, lines, "S: tl.constexpr")
    calls = [f"{name}[(1,)](x, y, n, {i}, B=16)" for i in range(n - 1)]
    return text + launcher(name, calls, given=str(n))


def long_number(name: str, n: int) -> str:
    return stages(name, 2).replace("n, 2, B=16", f"n, {'1' * n}, B=16")


def compared(name: str, n: int) -> str:
    """A parameter that the kernel compares with so many texts, and no launch passes."""
    steps = [f"if MODE == 'text{i}':\n        x = x * {i + 2}.0" for i in range(n)]
    return kernel(name, [OFFSETS, LOAD, *steps, STORE], "MODE: tl.constexpr")


def flags(name: str, n: int) -> str:
    steps = [f"if F{i}:\n        o = o + {i}" for i in range(n)]
    return kernel(name, [OFFSETS, *steps, LOAD, STORE], numbered("F{i}: tl.constexpr", n))


EDGES = {
    "LAUNCH_MOST_VALUES": stages,
    "NUMBER_MOST_DIGITS": long_number,
    "LAUNCH_MOST_TEXTS": compared,
    "FLAGS_MOST": flags,
    "MASK_MOST_TERMS": mask_parts,
    "TYPE_MAX_RANK": rank,
    "PROGRAM_AXES": grid,
    "LOOPS_MOST_NESTED": loops,
    "REGIONS_MOST_NESTED": regions,
    "ACCESS_MOST_AXES": access_axes,
    "TILE_MOST_DIGITS": digits_of_an_id,
    "ADDRESS_MOST_MOVERS": movers,
    "ADDRESS_MOST_WRAPS": wraps,
    "ADDRESS_MOST_DIGITS": digits_of_an_index,
    "ADDRESS_MOST_PLACES": ends_of_digits,
    "MASK_MOST_PARTS": mask_parts,
    "MASK_MOST_SLOTS": slots,
    "KERNEL_MOST_BOUNDS": bounds,
    "KERNEL_MOST_MEETINGS": meetings,
    "ALIAS_MOST_NUMBERS": alias_numbers,
    "STORED_MOST_DIGITS": stored_digits,
    "STORED_MOST_CUTS": stored_cuts,
    "STORED_MOST_SPLITS": stored_splits,
    "STORED_MOST_STORES": stores,
    "INDEX_MOST_PARTS": index_parts,
    "OPERATION_MOST_OPERANDS": operands,
    "ELEMENTWISE_MOST_OPERANDS": elementwise,
    "COMBINE_MOST_VALUES": combined,
    "COMBINE_MOST_CONSTANTS": combine_constants,
    "BACKWARD_MOST_REDUCTIONS": reductions,
    "KERNEL_MOST_PARAMETERS": parameters,
    "PARAMETER_MOST_CHOICES": choices,
    "COVERAGE_MOST_SIZES": sizes,
    "COVERAGE_MOST_STRIDES": strides,
    "CONFIGURATION_MOST_ITEMS": items,
    "ASSEMBLY_MOST_REGISTERS": registers,
    "ASSEMBLY_MOST_ARGUMENTS": assembly_arguments,
    "ASSEMBLY_MOST_PACKED": packed,
    "ASSEMBLY_MOST_WORDS": words,
    "ASSEMBLY_MOST_OPERANDS": assembly_operands,
    "ZIP_MOST_SEQUENCES": zipped,
    "TENSOR_MOST_PIECES": pieces,
    "LAUNCH_MOST_LEAVES": leaves,
    "CONDITION_MOST_INPUTS": condition("c{i}", " + ", " == 7"),
    "CONDITION_MOST_NUMBERS": condition("(n + {i})", " * ", " % 3 == 0"),
    "CONDITION_MOST_CANDIDATES": condition("n % 1{i} == 0", " or ", ""),
    "VERSION_MOST_NUMBERS": version,
    "NAME_MOST_PARTS": dotted,
    "BRACKETS_MOST_NESTED": brackets,
    "WALK_MOST_VALUES": walk,
}

# Steps: what is spent there is held by tests/test_budget.py, tests/test_doublings.py and tests/unit/budget.c.
OF_STEPS = {
    "KERNEL_MOST_STEPS",
    "KERNEL_FEWEST_STEPS",
    "REQUEST_MOST_STEPS",
    "DERIVATION_MOST_STEPS",
    "FILE_MOST_STEPS",
}

# What is said of a kernel beyond the limit, where a gradient or a proof is missing for it.
SAID = {
    "TYPE_MAX_RANK": r"limit-reached.*tiles of 8 at most",
    "PROGRAM_AXES": r"no configuration runs|incomplete: out of time",
    "LOOPS_MOST_NESTED": r"limit-reached",
    "KERNEL_MOST_PARAMETERS": r"more than 512 parameters|limit-reached",
    "COMBINE_MOST_VALUES": r"of 9 tiles, which are 1 to 8",
    "MASK_MOST_SLOTS": r"limit-reached.*tiles of 8 at most",
}


# Python has at most 100 levels of indentation.
DEEPEST = 99
NESTED = {"LOOPS_MOST_NESTED", "REGIONS_MOST_NESTED", "ACCESS_MOST_AXES", "STORED_MOST_DIGITS"}


def edge_file(name: str) -> str:
    """One file with the kernels of a limit."""
    limit = limits()[name]
    far = min(4 * limit, DEEPEST if name in NESTED else limit + 150)
    counts = [max(limit - 1, 1), limit, limit + 1, far]
    return HEAD + "".join(EDGES[name](f"k_{n}", n) for n in dict.fromkeys(counts))
