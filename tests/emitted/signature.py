"""What Triton is told to compile a kernel of a backward with: a type per run-time argument, and the constants."""

from __future__ import annotations

from collections.abc import Mapping

from tests.emitted.specification import Buffer, Specification

# Of scratch, where it has one: else it is as wide as the widest float of the launch, and float32 at least.
TORCH_TYPES = {"float32": "fp32", "float64": "fp64", "int64": "i64"}


def float_buffers(values: Specification) -> list[str]:
    """Names of what holds floats."""
    return [n for n, v in values.values.items() if isinstance(v, Buffer) and not v.is_integer]


def signature(
    text: str,
    kernel: str,
    arguments: Mapping[str, dict],
    values: Specification,
    floats: Mapping[str, str],
) -> tuple[dict[str, str], dict[str, object]]:
    """Types and constexprs to compile a kernel of a text with; floats: Triton's type of each float buffer."""
    head = text[text.index(f"def {kernel}(") :]
    head = head[: head.index("):\n")]
    types: dict[str, str] = {}
    constants: dict[str, object] = {}
    for name, use in arguments.items():
        of = next(iter(use.values()))
        value = values.values.get(of)
        is_constexpr = f"{name}: tl.constexpr" in head or f"{name}: 'tl.constexpr'" in head
        if "scratch" in use:
            types[name] = "*" + TORCH_TYPES[use.get("dtype", "float32")]
        elif "slices" in use and "default" in use:
            constants[name] = 512
        elif "slices" in use or "part_stride" in use:
            types[name] = "i32"
        elif "fill" in use:
            constants[name] = True
        elif "run_tile" in use:
            constants[name] = 16
        elif "stages" in use:
            constants[name] = 3
        elif "together" in use:
            constants[name] = 4
        elif "parts_of" in use:
            constants[name] = 1
        elif "described" in use:
            constants[name] = True
        elif "programs" in use or "steps" in use:
            types[name] = "i32"
        elif "gradient" in use and isinstance(value, float):  # of a scalar: the programs' sums
            types[name] = "*" + use["dtype"]
        elif isinstance(value, Buffer):
            own = value.type if value.is_integer else floats[of]
            is_gradient = {"gradient", "running", "kept"} & use.keys()
            types[name] = "*" + (use.get("dtype", own) if is_gradient else own)
        elif value is None or is_constexpr:
            constants[name] = value
        elif isinstance(value, (tuple, list)):
            types[name] = f"({', '.join('i32' for _ in value)})"
        else:
            types[name] = "fp32" if isinstance(value, float) else "i32"
    return types, constants
