"""What Triton's compiler gives a kernel: shared memory, registers, bytes that are spilled. Runs in a child process."""

from __future__ import annotations

import re
import struct
import tempfile
from pathlib import Path

from tests.support.worker import Worker
from tests.triton.compile import CompileFailure, complete_signature, live_constexprs

WARP_SIZE = 32
ALIGNMENT = 16
SH_STRTAB, NV_REGISTERS, NV_FRAME = 3, 0x2F, 0x11


def make_worker(cache: tempfile.TemporaryDirectory[str]) -> Worker:
    """A child that compiles kernels of examples, tests and the corpus."""
    environment = {
        "TRITON_INTERPRET": "0",
        "TRITON_CACHE_DIR": cache.name,
        "TAD_PERMISSIVE_IMPORTS": "1",
    }
    return Worker("tests.triton.footprint_compile", environment)


def sections(cubin: bytes) -> list[tuple[str, int, bytes]]:
    """Name, `sh_info` and content of each section of an ELF file of 64 bits."""
    offset = struct.unpack_from("<Q", cubin, 40)[0]
    size, count, names = struct.unpack_from("<HHH", cubin, 58)
    rows = [struct.unpack_from("<IIQQQQIIQQ", cubin, offset + i * size) for i in range(count)]
    table = cubin[rows[names][4] : rows[names][4] + rows[names][5]]
    return [
        (
            table[row[0] : table.index(b"\0", row[0])].decode(),
            row[7],
            cubin[row[4] : row[4] + row[5]],
        )
        for row in rows
    ]


def registers_of(cubin: bytes) -> tuple[int, int]:
    """Registers of a thread, bytes of its frame in local memory."""
    registers = frame = 0
    for name, info, content in sections(cubin):
        if name.startswith(".text."):
            registers = max(registers, info >> 24)
        if not name.startswith(".nv.info"):
            continue
        at = 0
        while at + 4 <= len(content):
            form, attribute, length = struct.unpack_from("<BBH", content, at)
            body = content[at + 4 : at + 4 + length] if form == 4 else b""
            if attribute == NV_REGISTERS and len(body) >= 8:
                registers = max(registers, struct.unpack_from("<I", body, 4)[0])
            if attribute == NV_FRAME and len(body) >= 8:
                frame = max(frame, struct.unpack_from("<I", body, 4)[0])
            at += 4 + (length if form == 4 else 0)
    return registers, frame


def attributes_of(
    names: list[str], complete: dict[str, object]
) -> dict[tuple[int], list[list[object]]]:
    """Pointers and integers are multiples of 16, as tensors and their strides mostly are."""
    return {
        (index,): [["tt.divisibility", ALIGNMENT]]
        for index, name in enumerate(names)
        if re.match(r"\*|[iu](32|64)$", str(complete[name]))
    }


def measure_here(
    path: str,
    kernel: str,
    types: dict[str, str],
    constexprs: dict[str, object],
    target: int,
    warps: int,
    stages: int,
) -> dict[str, object]:
    """Compiles; called in the child only. A failure is {"error"}."""
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    from tests.triton import kernel_module
    from tests.triton.corpus import CORPUS

    kernel_module.prepare("cuda", target)
    kernel_module.allow_package(CORPUS)
    try:
        module = kernel_module.load(Path(path))
        function = kernel_module.find_kernel_anywhere(module, Path(path), kernel)
        names = list(function.arg_names)  # type: ignore[attr-defined]
        complete = complete_signature(names, types, constexprs)
        attributes = attributes_of(names, complete)
        source = ASTSource(function, complete, live_constexprs(constexprs, function), attributes)
        options = {"num_warps": warps, "num_stages": stages}
        made = triton.compile(source, target=GPUTarget("cuda", target, WARP_SIZE), options=options)
    except CompileFailure as failure:
        return {"error": failure.message}
    except BaseException as error:
        return {"error": f"{type(error).__name__}: {error}"[:300]}
    registers, frame = registers_of(made.asm["cubin"])
    return {
        "shared": int(made.metadata.shared),
        "registers": registers,
        "frame": frame,
        "ttgir": made.asm["ttgir"],
    }
