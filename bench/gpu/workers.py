# ruff: noqa: E501
"""On a CUDA machine with PyTorch and Triton: the workers' backends beside each other, in three parts.

    python bench/gpu/workers.py build

1. Each kernel of examples/ is proved by the interpreter and by `--backend cuda`; verdicts and worst errors have to agree.
   What Triton makes of the same backwards is the matter of gradients.py and kernels.py.
2. `--time` beside `triton.testing.do_bench` of the same launch; a median over 0.05 ms may differ by 3 %.
3. Where compute-sanitizer is installed, it watches a worker that proves the softmaxes on the GPU.

Prints tables, and exits with 1 where something does not agree.
"""

import importlib.util
import json
import math
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import torch
import triton
import triton.testing

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
SANITIZED = EXAMPLES / "softmax.py"
AGREE, SHORT_MS, APART = 1e-10, 0.05, 0.03


def module(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def rand(*shape, dtype=torch.float32):
    return (torch.rand(*shape, device="cuda") * 2 - 1).to(dtype)


def report(tad, *arguments):
    run = subprocess.run(
        [tad, *map(str, arguments), "--format", "json"], capture_output=True, text=True
    )
    return json.loads(run.stdout)


def proofs(tad):
    """Rows that differ, of all."""
    found = []
    for backend in ("cpu", "cuda"):
        kernels = report(tad, "--check", "--grad", "--backend", backend, EXAMPLES)["kernels"]
        found.append({(k["file"], k["name"]): k for k in kernels})
    apart = []
    for key, one in found[0].items():
        other = found[1].get(key, {})
        near = abs((one["worst_error"] or 0) - (other.get("worst_error") or 0)) <= AGREE
        if one["status"] != other.get("status") or not near:
            apart.append(
                (
                    key,
                    one["status"],
                    one["worst_error"],
                    other.get("status"),
                    other.get("worst_error"),
                )
            )
    return len(found[0]), apart


def softmax(m, n):
    x, y = rand(m, n), rand(m, n)
    kernel = module(EXAMPLES / "softmax.py").softmax_kernel
    line = f"out_ptr=f32[{m}, {n}], in_ptr=f32[{m}, {n}], in_stride={n}, out_stride={n}, n_cols={n}, BLOCK={n}, grid=({m},)"
    return lambda: kernel[(m,)](y, x, n, n, n, BLOCK=n), "softmax.py", "softmax_kernel", line


def gelu(n):
    x, y = rand(n), rand(n)
    kernel = module(EXAMPLES / "activations.py").gelu_kernel
    line = f"x_ptr=f32[{n}], y_ptr=f32[{n}], n_elements={n}, APPROXIMATE=False, BLOCK=1024, grid=({n // 1024},)"
    launch = lambda: kernel[(n // 1024,)](x, y, n, APPROXIMATE=False, BLOCK=1024)  # noqa: E731
    return launch, "activations.py", "gelu_kernel", line


def layer_norm(m, n):
    half = torch.float16
    x, y, w, b = (
        rand(m, n, dtype=half),
        rand(m, n, dtype=half),
        rand(n, dtype=half),
        rand(n, dtype=half),
    )
    kernel = module(EXAMPLES / "layer_norm.py").layer_norm_row_kernel
    line = (
        f"x_ptr=f16[{m}, {n}], y_ptr=f16[{m}, {n}], weight_ptr=f16[{n}], bias_ptr=f16[{n}], x_row_stride={n}, "
        f"y_row_stride={n}, n_cols={n}, eps=0.00001, HAS_BIAS=True, BLOCK={n}, grid=({m},)"
    )
    launch = lambda: kernel[(m,)](x, y, w, b, n, n, n, 1e-5, HAS_BIAS=True, BLOCK=n)  # noqa: E731
    return launch, "layer_norm.py", "layer_norm_row_kernel", line


def matmul(n):
    a, b, c = (rand(n, n, dtype=torch.float16) for _ in range(3))
    kernel = module(EXAMPLES / "matmul.py").matmul_kernel
    grid = (n // 64, n // 64)
    line = (
        f"a_ptr=f16[{n}, {n}], b_ptr=f16[{n}, {n}], c_ptr=f16[{n}, {n}], M={n}, N={n}, K={n}, stride_am={n}, stride_ak=1, "
        f"stride_bk={n}, stride_bn=1, stride_cm={n}, stride_cn=1, BLOCK_M=64, BLOCK_N=64, BLOCK_K=32, grid={grid}"
    )
    sizes = {"BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 32}
    return (
        lambda: kernel[grid](a, b, c, n, n, n, n, 1, n, 1, n, 1, **sizes),
        "matmul.py",
        "matmul_kernel",
        line,
    )


def times(tad):
    """Rows of medians in ms: ours, do_bench's, and how far they are apart."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for launch, file, name, line in (
            softmax(8192, 4096),
            gelu(2**26),
            layer_norm(8192, 4096),
            matmul(4096),
        ):
            text = (EXAMPLES / file).read_text().split("\n")
            at = next(i for i, row in enumerate(text) if row.startswith(f"def {name}("))
            while text[at - 1].startswith("@"):
                at -= 1
            text.insert(at, f"# tad time: {line}")
            copy = Path(folder) / file
            copy.write_text("\n".join(text))
            timed = report(tad, "--time", f"{copy}:{name}", "--python", sys.executable)
            forward = timed["kernels"][0].get("forward", {})
            ours = forward.get("median_ms", math.nan)
            peer = triton.testing.do_bench(launch, return_mode="median")
            rows.append((name, ours, peer, abs(ours - peer) / peer))
    return rows


def sanitized(tad):
    """What compute-sanitizer says of a worker that gets the requests of `--check --grad` once more, and then ends by itself."""
    program = shutil.which("compute-sanitizer")
    if not program:
        return ["no compute-sanitizer here"]
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        runner = Path(tad).with_name("tad-runner").resolve()
        recorder = Path(folder) / "recorder"
        recorder.write_text(f'#!/bin/sh\ntee {folder}/requests.$$ | {runner} "$@"\n')
        recorder.chmod(0o755)
        report(tad, "--check", "--grad", "--backend", "cuda", "--runner", recorder, SANITIZED)
        for tool in ("memcheck", "racecheck"):
            for requests in sorted(Path(folder).glob("requests.[0-9]*")):
                log = requests.with_suffix(f".{tool}")
                with requests.open() as asked:
                    run = subprocess.run(
                        [program, "--tool", tool, "--log-file", log, runner, "--backend", "cuda"],
                        stdin=asked,
                        capture_output=True,
                        text=True,
                    )
                proved = run.stdout.count('"status":"proved"')
                found = [text for text in log.read_text().splitlines() if "SUMMARY" in text]
                lines.append(f"{tool}: {proved} times proved; {'; '.join(found) or 'no summary'}")
    return lines


def main():
    tad = str(Path(sys.argv[1]) / "tad-lsp")
    count, apart = proofs(tad)
    print(
        f"proofs: {count} kernels by cpu and by cuda, {len(apart)} of them not alike",
        *apart,
        sep="\n  ",
    )
    print("\n| kernel | --time, ms | do_bench, ms | apart |\n|---|--:|--:|--:|")
    rows = times(tad)
    for name, ours, peer, off in rows:
        print(f"| {name} | {ours:.4f} | {peer:.4f} | {100 * off:.1f} % |")
    print(*sanitized(tad), sep="\n")
    wrong = [row for row in rows if not (row[3] <= APART or row[2] < SHORT_MS)]
    sys.exit(bool(apart or wrong))


if __name__ == "__main__":
    main()
