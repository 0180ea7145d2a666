"""`--check --grad`: workers that prove, fail, die, hang and talk nonsense; and the real one."""

import json
import signal
import subprocess
import time
from pathlib import Path
from xml.etree import ElementTree

from tests.cli.conftest import BIN, CLEAN, HEADER, Workspace

KERNEL = CLEAN.split("\n\n\n", 1)[1]


def kernels(*names: str) -> str:
    return HEADER + "\n\n".join(KERNEL.replace("scale_kernel", name) for name in names)


def statuses(workspace: Workspace, runner: Path, *arguments: object) -> tuple[int, dict[str, dict]]:
    result = workspace.tad(
        "--check", "a.py", "--grad", "-f", "json", "--runner", runner, *arguments
    )
    return result.status, {kernel["name"]: kernel for kernel in result.json["kernels"]}


def requests(runner: Path) -> list[dict]:
    return [
        json.loads(line) for line in (runner.parent / "requests.jsonl").read_text().splitlines()
    ]


def test_outcomes(workspace: Workspace, fake_runner: Path) -> None:
    workspace.write({"a.py": kernels("good", "unsure", "refused")})
    status, found = statuses(workspace, fake_runner)
    assert status == 0
    assert found["good"]["status"] == "proved"
    assert found["good"]["worst_error"] == 2.5e-10
    assert found["good"]["file"] == "a.py"
    assert found["good"]["line"] == 6
    assert set(found["good"]) == {
        "file",
        "name",
        "line",
        "status",
        "reason",
        "worst_error",
        "atomics",
        "seconds",
        "covered",
        "asserted",
        "coverage",
        "own_types",
        "incomplete",
    }
    assert found["unsure"]["status"] == "derived"
    assert found["unsure"]["reason"] == "not finite"
    assert found["refused"]["status"] == "derived"
    assert "cannot run this" in found["refused"]["reason"]


def test_wrong_gradient_is_a_finding(workspace: Workspace, fake_runner: Path) -> None:
    workspace.write({"a.py": kernels("good", "wrong")})
    status, found = statuses(workspace, fake_runner)
    assert status == 1
    assert found["wrong"]["status"] == "failed"
    assert "dx[3]: expected 3, got 0" in found["wrong"]["reason"]
    concise = workspace.tad("--check", "a.py", "--grad", "-f", "concise", "--runner", fake_runner)
    assert "error[gradient-wrong]" in concise.stdout
    assert concise.status == 1


def test_table(workspace: Workspace, fake_runner: Path) -> None:
    workspace.write({"a.py": kernels("good", "wrong")})
    rows = workspace.tad("--check", "a.py", "--grad", "--runner", fake_runner).stdout.splitlines()
    assert any(row.split()[:3] == ["good", "proved", "2.5e-10"] for row in rows)
    assert any(row.split()[:2] == ["wrong", "failed"] for row in rows)
    assert any("2 forward kernels: 1 proved, 1 failed" in row for row in rows)


def test_junit_has_a_case_per_gradient(workspace: Workspace, fake_runner: Path) -> None:
    workspace.write({"a.py": kernels("good", "wrong", "unsure")})
    result = workspace.tad("--check", "a.py", "--grad", "-f", "junit", "--runner", fake_runner)
    suite = ElementTree.fromstring(result.stdout).find("testsuite[@name='gradients']")
    verdicts = {c.get("name"): [v.tag for v in c] for c in suite.findall("testcase")}
    assert verdicts == {"good": [], "wrong": ["failure"], "unsure": ["skipped"]}


def test_worker_that_dies_is_replaced(workspace: Workspace, fake_runner: Path) -> None:
    workspace.write({"a.py": kernels("good1", "dies", "good2", "first_time", "good3")})
    status, found = statuses(workspace, fake_runner, "--jobs", 1)
    assert status == 0
    assert {name: kernel["status"] for name, kernel in found.items()} == {
        "good1": "proved", "dies": "derived", "good2": "proved", "first_time": "proved", "good3": "proved",
    }  # fmt: skip
    assert "killed by signal 6: the last words" in found["dies"]["reason"]
    assert len({request["pid"] for request in requests(fake_runner)}) == 4


def test_worker_that_hangs_is_killed(workspace: Workspace, fake_runner: Path) -> None:
    workspace.write({"a.py": kernels("good1", "hangs", "garbage", "good2")})
    started = time.monotonic()
    status, found = statuses(workspace, fake_runner, "--jobs", 2, "--time-limit", 0.5)
    assert status == 0
    assert time.monotonic() - started < 60
    assert found["hangs"]["status"] == "derived"
    assert "did not answer within" in found["hangs"]["reason"]
    assert found["garbage"]["status"] == "derived"
    assert "malformed" in found["garbage"]["reason"]
    assert found["good1"]["status"] == found["good2"]["status"] == "proved"


def test_killed_from_outside_in_the_middle(workspace: Workspace, fake_runner: Path) -> None:
    workspace.write({"a.py": kernels("hangs", "good")})
    command = [
        BIN / "tad-lsp",
        "--check",
        "a.py",
        "--grad",
        "-f",
        "json",
        "--jobs",
        "1",
        "--runner",
        fake_runner,
    ]
    with subprocess.Popen(command, cwd=workspace.path, stdout=subprocess.PIPE) as process:
        log = fake_runner.parent / "requests.jsonl"
        killed: set[int] = set()
        while process.poll() is None and len(killed) < 2:
            time.sleep(0.05)
            for request in requests(fake_runner) if log.exists() else []:
                if request["params"].get("kernel") == "hangs" and request["pid"] not in killed:
                    killed.add(request["pid"])
                    subprocess.run(
                        ["kill", f"-{signal.SIGKILL.value}", str(request["pid"])], check=True
                    )
        stdout, _ = process.communicate(timeout=60)
    found = {kernel["name"]: kernel for kernel in json.loads(stdout)["kernels"]}
    assert found["hangs"]["status"] == "derived"
    assert "killed by signal 9" in found["hangs"]["reason"]
    assert found["good"]["status"] == "proved"


def test_no_worker_is_left_behind(workspace: Workspace, fake_runner: Path) -> None:
    workspace.write({"a.py": kernels("good", "hangs")})
    statuses(workspace, fake_runner, "--time-limit", 0.2)
    for request in requests(fake_runner):
        assert not Path(f"/proc/{request['pid']}").exists()


def test_worker_that_cannot_start(workspace: Workspace) -> None:
    workspace.write({"a.py": kernels("one", "two")})
    result = workspace.tad("--check", "a.py", "--grad", "-f", "json", "--runner", "/no/such/runner")
    assert result.status == 2
    assert result.stderr == "tad-lsp: cannot start `/no/such/runner`: no such file or directory\n"
    assert [kernel["status"] for kernel in result.json["kernels"]] == ["derived", "derived"]


def test_what_the_worker_is_asked(workspace: Workspace, fake_runner: Path) -> None:
    helper = HEADER + "@triton.jit\ndef triple(x):\n    return x * 3.0\n"
    text = (
        kernels("good")
        .replace("x * 3.0", "triple(x)")
        .replace("\n\n\n", "\nfrom pkg.h import triple\n\n\n", 1)
    )
    text = text.replace("@triton.jit", "# tad: n=70, BLOCK=32\n@triton.jit")
    spec = "[tool.tad.kernels.good]\nn = 70\nBLOCK = 32\nx_ptr = 'f32[n]'\n"
    workspace.write({"a.py": text, "pkg/h.py": helper, "pyproject.toml": spec})
    status, found = statuses(workspace, fake_runner, "--seed", 7, "--time-limit", 3)
    assert status == 0
    assert found["good"]["status"] == "proved"
    request = requests(fake_runner)[0]
    assert request["method"] == "gradcheck"
    params = request["params"]
    assert params["source"] == text
    assert params["path"] == "a.py"
    assert params["kernel"] == "good"
    assert params["seed"] == 7
    assert params["max_seconds"] == 3
    assert params["inputs"] == ["x_ptr"]
    assert params["outputs"] == ["y_ptr"]
    assert params["spec"]["pyproject"] == {"n": 70, "BLOCK": 32, "x_ptr": "f32[n]"}
    assert "n=70, BLOCK=32" in params["spec"]["text"]
    assert {"from": "a.py", "dotted": "pkg.h", "path": "pkg/h.py", "source": helper} in params[
        "modules"
    ]
    launches = params["backward"]["launches"]
    assert launches
    for launch in launches:
        assert f"def {launch['kernel']}(" in params["backward"]["source"]
        for argument in launch["arguments"].values():
            assert set(argument) & {"same", "upstream", "gradient", "scratch"}


def test_real_worker_proves(workspace: Workspace) -> None:
    workspace.write({"a.py": kernels("scale")})
    result = workspace.tad("--check", "a.py", "--grad", "-f", "json")
    assert result.status == 0, result.stderr
    (kernel,) = result.json["kernels"]
    assert kernel["status"] == "proved", kernel["reason"]
    assert kernel["worst_error"] < 1e-6
    assert kernel["atomics"] == 0
    assert result.json["summary"]["proved"] == 1


FLAT = (
    HEADER
    + """

@triton.jit
def flat_kernel(
    x_ptr, out_ptr, N, SIDE: tl.constexpr, stride_n: tl.constexpr, stride_m: tl.constexpr,
    stride_on: tl.constexpr, stride_oi: tl.constexpr, stride_oj: tl.constexpr,
):
    row = tl.program_id(0)
    if row >= N:
        return
    i = tl.arange(0, SIDE)[:, None]
    j = tl.arange(0, SIDE)[None, :]
    x = tl.load(x_ptr + row * stride_n + (2 * SIDE + i * SIDE + j) * stride_m)
    tl.store(out_ptr + row * stride_on + i * stride_oi + j * stride_oj, x * x)


@triton.jit
def far_kernel(x_ptr, ids_ptr, count_ptr, out_ptr, N, stride_i, stride_x, stride_o, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    mask = lanes < N
    first = tl.load(ids_ptr + row * stride_i)
    last = tl.load(ids_ptr + (row + 1) * stride_i)
    for k in range(first, tl.minimum(last, first + 3)):
        x = tl.load(x_ptr + row.to(tl.int64) * stride_x + lanes, mask=mask, other=0.0)
        tl.atomic_add(out_ptr + k.to(tl.int64) * stride_o * 131 + lanes, x * x, mask=mask)
"""
)


def test_made_up_strides_do_not_refute(workspace: Workspace) -> None:
    """Rows of a guessed configuration that reach into each other, or leave all that has an address, say nothing."""
    workspace.write({"a.py": FLAT})
    result = workspace.tad("--check", "--grad", "-f", "json", "a.py")
    statuses = {entry["name"]: entry["status"] for entry in json.loads(result.stdout)["kernels"]}
    assert statuses["flat_kernel"] == "proved"
    assert statuses["far_kernel"] != "failed"


DIVIDED = (
    HEADER
    + """

@triton.jit
def divided_kernel(x_ptr, ids_ptr, y_ptr, T, E, stride, BLOCK_T: tl.constexpr, BLOCK_E: tl.constexpr):
    rows = tl.program_id(0) * BLOCK_T + tl.arange(0, BLOCK_T)
    cols = tl.arange(0, BLOCK_E)
    ok = (rows < T)[:, None] & (cols < E)[None, :]
    place = rows[:, None] * stride + cols[None, :]
    x = tl.load(x_ptr + place, mask=ok, other=0.0)
    ids = tl.load(ids_ptr + rows, mask=rows < T, other=0)
    chosen = (cols[None, :] == ids[:, None] + 1000) & ok
    e = tl.where((cols < E)[None, :], tl.exp(x), 0.0)
    p = e / tl.sum(e, axis=1)[:, None]
    total = tl.sum(tl.where(chosen, p, 0.0), axis=1)
    w = p / total[:, None]
    s = tl.sum(tl.where(chosen, w * x, 0.0), axis=1)
    d = tl.where(chosen, (x - s[:, None]) / total[:, None], 0.0)
    tl.store(y_ptr + place, p * (x + d - tl.sum(d * p, axis=1)[:, None]), mask=ok)
"""
)


def test_a_gradient_that_is_nan_where_its_derivative_is_a_number_is_told(
    workspace: Workspace,
) -> None:
    """No row has a chosen column: what is stored is finite, and the gradient, 0 times infinity, is not."""
    workspace.write({"a.py": DIVIDED})
    result = workspace.tad("--check", "--grad", "-f", "json", "a.py")
    (entry,) = json.loads(result.stdout)["kernels"]
    assert entry["status"] == "failed"
    assert "not finite where its derivative is" in entry["reason"]


EXPANDED = (
    "import torch\n"
    + HEADER
    + """

@triton.jit
def product_kernel(a_ptr, b_ptr, o_ptr, N, stride_a, stride_b, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    j = tl.arange(0, BLOCK)
    a = tl.load(a_ptr + row * stride_a + j, mask=j < N)
    b = tl.load(b_ptr + row * stride_b + j, mask=j < N)
    tl.store(o_ptr + row * N + j, a * b, mask=j < N)


def product(a, b):
    M, N = b.shape
    a = a[None].expand(M, N)
    o = torch.empty_like(b)
    product_kernel[(M,)](a, b, o, N, a.stride(0), b.stride(0), BLOCK=triton.next_power_of_2(N))
    return o
"""
)


def test_expanded_tensor_is_no_wrong_gradient(workspace: Workspace) -> None:
    """The written module refuses a stride of 0 before it could give a wrong gradient: the check says just that."""
    workspace.write({"a.py": EXPANDED})
    result = workspace.tad("--check", "--grad", "-f", "json", "a.py")
    (kernel,) = json.loads(result.stdout)["kernels"]
    assert kernel["status"] != "failed"
    assert kernel["status"] == "proved" or "`stride_a` is 0" in kernel["reason"]


SHARED = (
    EXPANDED[: EXPANDED.index("def product(")]
    + """def product(a, b, shared: bool):
    M, N = b.shape
    o = torch.empty_like(b)
    step = a.stride(0) * (not shared)
    product_kernel[(M,)](a, b, o, N, step, b.stride(0), BLOCK=triton.next_power_of_2(N))
    return o
"""
)


def test_stride_of_zero_that_the_module_does_not_see_is_wrong(workspace: Workspace) -> None:
    """No tensor is expanded, so nothing refuses: the programs store over each other, and that is said."""
    workspace.write({"a.py": SHARED})
    result = workspace.tad("--check", "--grad", "-f", "json", "a.py")
    (kernel,) = json.loads(result.stdout)["kernels"]
    assert kernel["status"] == "failed"


COUNTED = (
    HEADER
    + """

@triton.jit
def counted_kernel(x_ptr, y_ptr, T, level, S: tl.constexpr, BT: tl.constexpr):
    t = tl.program_id(0)
    rows = t * BT + tl.arange(0, BT)
    first = tl.floor(t * BT / S).to(tl.int32) * S
    levels = tl.log2(float(BT)).to(tl.int32) + 1
    total = tl.zeros([BT], dtype=tl.float32)
    for start in range(first, t * BT + BT, BT):
        x = tl.load(x_ptr + (start + tl.arange(0, BT)) * 16 + levels + level, mask=rows < T, other=0.0)
        total += x * x
    tl.store(y_ptr + rows, total, mask=rows < T)
"""
)


def test_a_size_beside_floats_is_an_integer(workspace: Workspace) -> None:
    """A table's size clamps a float, and its number is part of an address: no float stands for it."""
    text = (
        HEADER
        + """
@triton.jit
def lookup_kernel(t_ptr, x_ptr, y_ptr, size, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0)
    u = tl.minimum(tl.maximum(x, 0.0), size - 1.0)
    j = tl.minimum(u.to(tl.int32), size - 2)
    a = tl.load(t_ptr + j, mask=i < n, other=0.0)
    tl.store(y_ptr + i, a * u, mask=i < n)
"""
    )
    launcher = """

def lookup(t, x):
    y = torch.empty_like(x)
    lookup_kernel[(1,)](t, x, y, t.numel(), x.numel(), BLOCK=16)
    return y
"""
    workspace.write(
        {
            "a.py": text,
            "b.py": text.replace("import triton\n", "import torch\nimport triton\n", 1) + launcher,
        }
    )
    result = workspace.tad("--check", "--grad", "-f", "json", "a.py", "b.py")
    entries = json.loads(result.stdout)["kernels"]
    assert [(entry["status"], entry["reason"]) for entry in entries] == [("proved", "")] * 2


CODES = HEADER + """
@triton.jit
def scales(x_ptr, codes_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    code = tl.load(codes_ptr + row)
    x = tl.load(x_ptr + row * n + lanes, mask=lanes < n, other=0.0)
    scale = tl.sqrt(tl.sum(x * x) / n + 0.5)
    tl.store(y_ptr + row, tl.where((code == 2) | (code == 6), scale, 1.0))
"""


def test_what_is_compared_with_codes_is_an_integer(workspace: Workspace) -> None:
    """As a float no code would be met, and every derivative be 0."""
    workspace.write({"a.py": CODES})
    done = workspace.tad("--check", "a.py", "--grad", "-f", "json")
    (kernel,) = json.loads(done.stdout)["kernels"]
    assert kernel["status"] == "proved", kernel["reason"]


HALVES = HEADER + """
@triton.jit
def samples(image_ptr, sizes_ptr, y_ptr, C: tl.constexpr, L: tl.constexpr):
    levels = tl.arange(0, L)
    lanes = tl.arange(0, C)
    sizes = tl.load(sizes_ptr + levels[:, None] * 2 + tl.arange(0, 2)[None, :])
    h, w = tl.split(sizes)
    x = tl.load(image_ptr + (h * w)[:, None] * C + lanes[None, :])
    tl.store(y_ptr + levels[:, None] * C + lanes[None, :], x)
"""


def test_halves_that_are_places_are_integers(workspace: Workspace) -> None:
    workspace.write({"a.py": HALVES})
    done = workspace.tad("--check", "a.py", "--grad", "-f", "json")
    (kernel,) = json.loads(done.stdout)["kernels"]
    assert kernel["status"] == "proved", kernel["reason"]


def test_what_counts_is_guessed_as_an_integer(workspace: Workspace) -> None:
    """A divisor of indices and an offset beside what was a float before are no scales."""
    workspace.write({"a.py": COUNTED})
    result = workspace.tad("--check", "--grad", "-f", "json", "a.py")
    entries = json.loads(result.stdout)["kernels"]
    assert [(entry["status"], entry["reason"]) for entry in entries] == [("proved", "")]


def test_a_forward_that_leaves_the_sizes_that_are_said_is_no_wrong_gradient(
    workspace: Workspace,
) -> None:
    """Blame is the forward's line; the backward reads there, too, because the forward does."""
    text = (
        HEADER
        + """# tad: x_ptr=f32[n], y_ptr=f32[n], n=300, B=64, grid=(5,)
@triton.jit
def ahead(x_ptr, y_ptr, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    x = tl.load(x_ptr + i + 1000, mask=i < n, other=0.0)
    tl.store(y_ptr + i, x * x, mask=i < n)
"""
    )
    workspace.write({"a.py": text})
    report = workspace.tad("--check", "--grad", "-f", "json", "a.py").json
    assert [d["name"] for d in report["diagnostics"]] == ["out-of-bounds"]
    entry = report["kernels"][0]
    said = "out-of-bounds in the forward, with the sizes that are said: ahead, line"
    assert entry["status"] == "derived" and said in entry["reason"]


def test_programs_that_meet_at_the_sizes_that_are_said_are_no_wrong_gradient(
    workspace: Workspace,
) -> None:
    """Which of two programs stores last is chance, so there is no derivative to compare with."""
    text = (
        HEADER
        + """# tad: n=100, STEP=32, B=64, x_ptr=f32[n], y_ptr=f32[n], grid=(4,)
@triton.jit
def square(x_ptr, y_ptr, n, STEP: tl.constexpr, B: tl.constexpr):
    i = tl.program_id(0) * STEP + tl.arange(0, B)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0).to(tl.float32)
    tl.store(y_ptr + i, x * tl.sum(x, axis=0), mask=i < n)
"""
    )
    workspace.write({"a.py": text})
    report = workspace.tad("--check", "--grad", "-f", "json", "a.py").json
    found = [(d["severity"], d["name"]) for d in report["diagnostics"]]
    assert ("warning", "race") in found and "error" not in {severity for severity, _ in found}
    entry = report["kernels"][0]
    assert entry["status"] == "derived"
    assert "race in the forward, with the sizes that are said: square, line" in entry["reason"]
    workspace.write({"a.py": text.replace("STEP=32", "STEP=64")})
    report = workspace.tad("--check", "--grad", "-f", "json", "a.py").json
    assert [entry["status"] for entry in report["kernels"]] == ["proved"]


def test_a_size_that_the_launcher_leaves_out_is_what_the_kernel_takes_it_for(
    workspace: Workspace,
) -> None:
    """`n, _, h, w = x.shape`: planes in threes, and no made-up number of them."""
    text = (
        HEADER
        + """@triton.jit
def planes(x_ptr, y_ptr, P, BLOCK: tl.constexpr):
    n = tl.program_id(1)
    p = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    r = tl.load(x_ptr + n * 3 * P + p, mask=p < P)
    b = tl.load(x_ptr + n * 3 * P + 2 * P + p, mask=p < P)
    tl.store(y_ptr + n * 3 * P + p, r * b, mask=p < P)
    tl.store(y_ptr + n * 3 * P + P + p, r, mask=p < P)
    tl.store(y_ptr + n * 3 * P + 2 * P + p, b, mask=p < P)


def run(x):
    n, _, h, w = x.shape
    y = torch.empty_like(x)
    planes[(triton.cdiv(h * w, 64), n)](x, y, h * w, BLOCK=64)
    return y
"""
    )
    workspace.write({"a.py": text})
    report = workspace.tad("--check", "--grad", "-f", "json", "a.py").json
    assert not report["diagnostics"]
    assert [entry["status"] for entry in report["kernels"]] == ["proved"]
