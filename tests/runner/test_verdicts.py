"""What a run measured as wrong is never settled by what speaks for it: other sizes, duals alone, or an empty loss."""

from __future__ import annotations

import json
from pathlib import Path

from tests.emitted.plan import Runner, derived, tad

HEAD = "import torch\nimport triton\nimport triton.language as tl\n\n\n"
# Frames that overlap, in no launcher: the backward takes the iterations of the loop to be at different places.
FRAMES = """@triton.jit
def frames(o, x, hop, W, F, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    for r in range(F):
        v = tl.load(x + r * W + i, mask=i < W, other=0.0)
        a = tl.load(o + r * hop + i, mask=i < W, other=0.0)
        tl.store(o + r * hop + i, a + v * a + v * v, mask=i < W)
"""
OVERLAPPING = f"""{HEAD}# tad: o=f32[20], x=f32[4, 8], hop=4, W=8, F=4, BLOCK=8, grid=(1,)
{FRAMES}"""
# Statistics of which the heads store one after the other.
COLLIDING = (
    HEAD
    + """@triton.jit
def norm(y, rstd, x, N, H, BLOCK: tl.constexpr):
    r = tl.program_id(0)
    h = tl.program_id(1)
    i = tl.arange(0, BLOCK)
    base = (r * H + h) * N
    v = tl.load(x + base + i, mask=i < N, other=0.0).to(tl.float32)
    s = 1 / tl.sqrt(tl.sum(v * v) / N + 1e-5)
    tl.store(rstd + r, s)  # here
    tl.store(y + base + i, v * s, mask=i < N)


def run(x):
    M, H, N = x.shape
    y = torch.empty_like(x)
    rstd = torch.empty(M, dtype=torch.float32)
    norm[(M, H)](y, rstd, x, N, H, BLOCK=8)
    return y
"""
)
DEAD = (
    HEAD
    + """# tad: X=f32[16], Y=f32[16], B=16, grid=(1,)
@triton.jit
def dead(X, Y, B: tl.constexpr):
    at = tl.arange(0, B)
    x = tl.load(X + at)
    tl.store(Y + at, tl.where(at > 99, x * x, 1.0))
"""
)
STEPS = (
    HEAD
    + """# tad: X=f32[16], Y=f32[16], B=16, grid=(1,)
@triton.jit
def steps(X, Y, B: tl.constexpr):
    at = tl.arange(0, B)
    x = tl.load(X + at)
    tl.store(Y + at, x * x + tl.floor(x * 1e12) * 1e-12)
"""
)


def check(tmp_path: Path, text: str) -> tuple[int, dict]:
    file = tmp_path / "kernel.py"
    file.write_text(text)
    run = tad("--check", "--grad", "-f", "json", file)
    return run.returncode, json.loads(run.stdout)


def test_a_wrong_gradient_is_not_excused_by_other_strides(tmp_path: Path) -> None:
    status, report = check(tmp_path, OVERLAPPING)
    assert status == 1
    assert report["kernels"][0]["status"] == "failed"
    written = tad("--backward", tmp_path / "kernel.py")
    assert written.returncode == 1
    assert written.stdout.startswith("# WARNING: the proof contradicts the gradients of `frames`")


def test_a_race_in_a_launch_is_not_excused_by_other_sizes(tmp_path: Path) -> None:
    status, report = check(tmp_path, COLLIDING)
    assert status == 1
    (kernel,) = report["kernels"]
    assert kernel["status"] == "derived"
    assert "race in a launch of this file: norm, line" in kernel["reason"]
    races = [d for d in report["diagnostics"] if d["name"] == "race"]
    lines = COLLIDING.splitlines()
    assert [lines[d["range"]["start"]["line"]].endswith("# here") for d in races] == [True]
    written = tad("--backward", tmp_path / "kernel.py")
    assert written.returncode == 1
    assert written.stdout.startswith("# WARNING: the gradients of `norm` are not proved")
    backward = written.stdout[written.stdout.index("def norm_backward") :]
    assert "tl.load(rstd" not in backward, "the last head's is no other's"


def test_no_derivative_is_no_proof(tmp_path: Path) -> None:
    _, report = check(tmp_path, DEAD)
    (kernel,) = report["kernels"]
    assert kernel["status"] == "derived"
    assert "every derivative is 0" in kernel["reason"]


def test_duals_alone_prove_nothing(tmp_path: Path) -> None:
    """Steps too fine for any difference: their slope is 0 for duals and for the backward, and 1 in effect."""
    _, report = check(tmp_path, STEPS)
    (kernel,) = report["kernels"]
    assert kernel["status"] != "proved"


def test_a_kink_is_left_behind_by_smaller_steps(tmp_path: Path) -> None:
    text = STEPS.replace("tl.floor(x * 1e12) * 1e-12", "tl.abs(x - 0.5 + tl.floor(x)) * 3")
    _, report = check(tmp_path, text)
    assert report["kernels"][0]["status"] == "proved"


def test_what_is_excused_is_said(tmp_path: Path) -> None:
    """Sizes that are made up may be to blame, which leaves the proof open and is told."""
    file = tmp_path / "kernel.py"
    file.write_text(HEAD + FRAMES)
    proof = derived(file)[1]["frames"]
    source = proof["backward"]["source"]
    wrong = source.replace(" * ", " + ", 40)
    runner = Runner()
    answer = runner.ask("gradcheck", {**proof, "backward": {**proof["backward"], "source": wrong}})
    runner.close()
    assert answer["status"] != "proved"


SHORT = (
    HEAD
    + """@triton.jit
def weigh(X, W, Y, N, K, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    x = tl.load(X + row * N + i, mask=i < N, other=0.0)
    w = tl.load(W + i, mask=i < K, other=0.0)
    tl.store(Y + row * N + i, x * tl.sum(w, 0), mask=i < N)


def run(x, w):
    M, N = x.shape
    K = w.shape[0]
    y = torch.empty(M, N - 1)
    weigh[(M,)](x, w, y, N, K, BLOCK=triton.next_power_of_2(N))
    return y
"""
)


def test_beyond_what_a_launcher_allocates(tmp_path: Path) -> None:
    """Sizes of another tensor excuse nothing of which neither the place nor the allocation knows."""
    status, report = check(tmp_path, SHORT)
    (kernel,) = report["kernels"]
    assert kernel["status"] == "derived"
    assert "out-of-bounds in a launch of this file: weigh, line" in kernel["reason"]
    assert status == 1
    _, right = check(tmp_path, SHORT.replace("N - 1", "N"))
    assert right["kernels"][0]["status"] == "proved"
    chosen = SHORT.replace("(x, w):", "(x, w, K):").replace("    K = w.shape[0]\n", "")
    chosen = chosen.replace("N, K, BLOCK: tl.constexpr", "N, BLOCK: tl.constexpr, K: tl.constexpr")
    chosen = chosen.replace(
        "N, K, BLOCK=triton.next_power_of_2(N)", "N, triton.next_power_of_2(N), K"
    )
    _, of_a_caller = check(tmp_path, chosen)
    assert of_a_caller["kernels"][0]["status"] == "derived"
    _, open_one = check(tmp_path, SHORT.replace("empty(M, N - 1)", "empty(M, K)"))
    assert "in a launch of this file" not in open_one["kernels"][0]["reason"], "N may be K"


COPIED = (
    HEAD
    + """@triton.jit
def double(X, Y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(X + i, mask=i < n)
    tl.store(Y + i, x * 2.0, mask=i < n)


def run(x, m):
    y = torch.empty({size})
    n = {n}
    double[(triton.cdiv(n, 64),)](x, y, n, BLOCK=64)
    return y
"""
)


def test_a_length_that_the_caller_passes_fits(tmp_path: Path) -> None:
    """Nothing says that a number is a size of the input; of one source, it stays a fault."""
    for size, n, status in (
        ("m", "x.numel()", "proved"),
        ("m + 2, 3", "x.numel()", "proved"),
        ("x.numel() // 2", "x.numel()", "derived"),
        ("x.numel() - 1", "x.numel()", "derived"),
    ):
        _, report = check(tmp_path, COPIED.replace("{size}", size).replace("{n}", n))
        (kernel,) = report["kernels"]
        assert kernel["status"] == status, (size, n, kernel["reason"])
        found = [d["name"] for d in report["diagnostics"]]
        assert ("out-of-bounds" in found) == (status == "derived"), (size, n)


HALVES = (
    HEAD
    + """@triton.jit
def halves(y, x, BLOCK: tl.constexpr):
    r = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + r * BLOCK + i)
    tl.store(y + r // 2 * BLOCK + i, v * v)
"""
)


def test_fewer_programs_store_fewer_elements(tmp_path: Path) -> None:
    """Of a made-up grid whose programs collide a part is tried, and the stored elements are counted for that part."""
    _, report = check(tmp_path, HALVES)
    (kernel,) = report["kernels"]
    assert kernel["status"] == "proved", kernel["reason"]
    assert "not had: 3 programs along axis 0" in kernel["covered"]


# Sums of parts that another launch has weighted: the weight stands behind the D elements of a part.
HELPED = (
    HEAD
    + """@triton.jit
def merge_kernel(
    parts, s_row, s_head, s_split, s_lane, y,
    SPLITS: tl.constexpr, D: tl.constexpr, BLOCK: tl.constexpr,
):
    row = tl.program_id(0)
    head = tl.program_id(1)
    i = tl.arange(0, BLOCK)
    start = parts + row * s_row + head * s_head
    acc = tl.zeros([BLOCK], dtype=tl.float32)
    for split in range(0, SPLITS):
        part = tl.load(start + split * s_split + i * s_lane, mask=i < D, other=0.0)
        acc += part * tl.load(start + split * s_split + D * s_lane)
    tl.store(y + (row * tl.num_programs(1) + head) * D + i, acc, mask=i < D)


def strides_of(tensor, count):
    strides = tensor.stride()
    assert len(strides) == count
    return strides


def merge(parts, q, values, splits):
    heads, D = q.shape[2], values.shape[-1]
    y = torch.empty((q.shape[0], heads, D), device=q.device)
    merge_kernel[(q.shape[0], heads)](
        parts, *strides_of(parts, 4), y, SPLITS=splits, D=D, BLOCK=triton.next_power_of_2(D)
    )
    return y
"""
)


def test_a_stride_that_a_helper_gives_is_no_choice_of_the_caller(tmp_path: Path) -> None:
    """Shapes of several tensors are made up each for itself: rows that overlap for that alone excuse a gradient."""
    _, report = check(tmp_path, HELPED)
    (kernel,) = report["kernels"]
    assert kernel["status"] == "proved", kernel["reason"]


# Nothing says that `b` has as many rows as `a`. How far the rows of `z` lie apart is the caller's number, by which
# `b` does not step.
JOINED = (
    HEAD
    + """@triton.jit
def joined_kernel(
    a, b, y, z, sa_b, sa_t, sa_h, sa_d, sb_b, sb_t, sb_h, sb_d, sy_b, sy_t, sy_h, sy_d,
    sz_b, sz_t, T, H, KEEP: tl.constexpr, MORE: tl.constexpr, DB: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr,
):
    batch = tl.program_id(0) // T
    t = tl.program_id(0) % T
    h = tl.arange(0, ROWS)[:, None]
    i = tl.arange(0, BLOCK)[None, :]
    old = batch * sa_b + t * sa_t + h * sa_h + i * sa_d
    new = batch * sb_b + t * sb_t + h * sb_h + i * sb_d
    out = batch * sy_b + t * sy_t + h * sy_h
    inside, fresh = (h < H) & (i < KEEP), (h < H) & (i < DB)
    tl.store(y + out + i * sy_d, tl.load(a + old, mask=inside, other=0.0), mask=inside)
    tl.store(y + out + (KEEP + i) * sy_d, tl.load(b + new, mask=fresh, other=0.0), mask=fresh)
    more = tl.sum(tl.load(a + old, mask=(h < H) & (i < MORE), other=0.0), axis=0)
    cols = tl.arange(0, BLOCK)
    tl.store(z + batch * sz_b + t * sz_t + cols, more, mask=cols < MORE)


def joined(a, b, keep: int, more: int):
    batch, T, H, _ = a.shape
    DB = b.shape[-1]
    y = torch.empty((batch, T, H, keep + DB), device=a.device)
    z = torch.empty((batch, T, more), device=a.device)
    joined_kernel[(batch * T,)](
        a, b, y, z, *a.stride(), b.stride(0), b.stride(1), b.stride(2), b.stride(3), *y.stride(),
        z.stride(0), z.stride(1), T, H, KEEP=keep, MORE=more, DB=DB,
        ROWS=triton.next_power_of_2(H), BLOCK=triton.next_power_of_2(max(keep, more, DB)),
    )
    return y, z
"""
)


def test_a_number_that_another_tensor_steps_by_blames_nobody(tmp_path: Path) -> None:
    """What a caller chooses is certain for tensors that go by it. Rows of others overlap as shapes are made up."""
    _, report = check(tmp_path, JOINED)
    (kernel,) = report["kernels"]
    assert kernel["status"] == "proved", kernel["reason"]


# Rows that are padded on their left: how far is what memory and a number of the caller's say.
PADDED_LEFT = (
    HEAD
    + """@triton.jit
def padded_kernel(x, w, ends, y, longest, s_w, D: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    start = tl.load(ends + row)
    length = tl.load(ends + row + 1) - start
    i = tl.arange(0, BLOCK)
    for t in range(length):
        scale = tl.load(w + row * s_w + t + longest - length)
        v = tl.load(x + (start + t) * D + i, mask=i < D, other=0.0)
        tl.store(y + (start + t) * D + i, v * scale, mask=i < D)


def padded(x, w, ends, longest: int):
    D = x.shape[1]
    y = torch.empty_like(x)
    padded_kernel[(ends.shape[0] - 1,)](
        x, w, ends, y, longest, w.stride(0), D=D, BLOCK=triton.next_power_of_2(D)
    )
    return y
"""
)


def test_a_place_that_memory_and_a_caller_choose_is_no_finding(tmp_path: Path) -> None:
    """Whether it lies in the tensor is theirs to say: numbers that were made up leave the proof open, and no more."""
    _, report = check(tmp_path, PADDED_LEFT)
    (kernel,) = report["kernels"]
    assert kernel["status"] in ("proved", "derived")
    assert "out-of-bounds" not in {d["name"] for d in report["diagnostics"]}


# The first row has nothing to weigh: 0 / 0, which the scale of all rows meets.
EMPTY_ROW = (
    HEAD
    + """@triton.jit
def weighted_kernel(x_ptr, v_ptr, scale_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    inside = lanes < row
    x = tl.load(x_ptr + row * n + lanes, mask=inside, other=-float("inf"))
    p = tl.exp(x - tl.max(x, axis=0))
    v = tl.load(v_ptr + lanes, mask=lanes < n, other=0.0)
    y = tl.sum(p * v, axis=0) / tl.sum(p, axis=0)
    tl.store(y_ptr + row, y * tl.load(scale_ptr))


def weighted(x, v, scale):
    n = x.shape[1]
    y = torch.empty(x.shape[0], device=x.device)
    weighted_kernel[(x.shape[0],)](x, v, scale, y, n, BLOCK=triton.next_power_of_2(n))
    return y
"""
)


def test_a_launch_whose_results_are_no_numbers_is_told(tmp_path: Path) -> None:
    """The gradient is NaN there, also by elements whose results are numbers: that is no proof, and no silence."""
    status, report = check(tmp_path, EMPTY_ROW)
    (kernel,) = report["kernels"]
    assert kernel["status"] == "derived"
    assert "is not finite with these inputs, nor is the forward" in kernel["reason"]
    assert status == 1
    written = tad("--backward", tmp_path / "kernel.py")
    assert written.returncode == 1
    assert written.stdout.startswith("# WARNING: the gradients of `weighted_kernel` are not proved")
    _, right = check(tmp_path, EMPTY_ROW.replace("lanes < row", "lanes <= row"))
    assert right["kernels"][0]["status"] == "proved"


# Of each row's scores all but a few are masked: -inf is what the kernel stores for them.
MASKED_SCORES = (
    HEAD
    + """@triton.jit
def score_kernel(q_ptr, k_ptr, s_ptr, rows, keys, first, every, D: tl.constexpr, B: tl.constexpr):
    r = tl.program_id(0) * B + tl.arange(0, B)
    c = tl.program_id(1) * B + tl.arange(0, B)
    d = tl.arange(0, D)
    q = tl.load(q_ptr + r[:, None] * D + d[None, :], mask=(r < rows)[:, None], other=0.0)
    k = tl.load(k_ptr + c[:, None] * D + d[None, :], mask=(c < keys)[:, None], other=0.0)
    s = tl.dot(q, tl.trans(k))
    seen = c[None, :] < ((first + r) // every)[:, None]
    s = tl.where(seen, tl.exp(s), MASK)
    inside = (r < rows)[:, None] & (c < keys)[None, :]
    tl.store(s_ptr + r[:, None] * keys + c[None, :], s, mask=inside)


def score(q, k):
    rows, d = q.shape
    s = torch.empty((rows, k.shape[0]), device=q.device)
    grid = (triton.cdiv(rows, 16), triton.cdiv(k.shape[0], 16))
    score_kernel[grid](q, k, s, rows, k.shape[0], 3, 4, D=d, B=16)
    return s
"""
)


def test_scores_of_which_most_are_masked_are_proved_by_the_others(tmp_path: Path) -> None:
    """How many that were is said. Where these are NaN, or +inf that no mask says: no proof."""
    for mask in ("-float('inf')", "float('inf')"):
        _, report = check(tmp_path, MASKED_SCORES.replace("MASK", mask))
        (kernel,) = report["kernels"]
        assert kernel["status"] == "proved"
        assert "not compared: " in kernel["covered"]
    for mask in ("float('nan')", "tl.exp(1e30 + s)"):
        _, report = check(tmp_path, MASKED_SCORES.replace("MASK", mask))
        (kernel,) = report["kernels"]
        assert kernel["status"] == "derived"
        assert "most outputs of the forward are not finite" in kernel["reason"]


# Annotated as if it could be None, which the kernel would not compile with.
ANNOTATED = (
    HEAD
    + """@triton.jit
def shifted(y, x, w, b, n, HAS_B: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0.0) * tl.load(w + i, mask=i < n, other=0.0)
    if HAS_B:
        v += tl.load(b + i, mask=i < n, other=0.0)
    tl.store(y + i, v, mask=i < n)


def shift(x: torch.Tensor, w: torch.Tensor | None, b: torch.Tensor | None):
    y = torch.empty_like(x)
    n = x.shape[0]
    shifted[(triton.cdiv(n, 64),)](y, x, w, b, n, HAS_B=b is not None, BLOCK=64)
    return y
"""
)


def test_a_tensor_that_is_read_whatever_the_flags_are_is_given(tmp_path: Path) -> None:
    file = tmp_path / "kernel.py"
    file.write_text(ANNOTATED)
    runner = Runner()
    answer = runner.ask("gradcheck", derived(file)[1]["shifted"])
    runner.close()
    assert answer["status"] == "proved"
    assert {c["source"] for c in answer["configurations"]} == {"launcher"}
    assert set(answer["coverage"]["values"]["HAS_B"]) == {"True", "False"}
    assert not any("None" in c["reason"] for c in answer["discarded"])


# Tokens that a list selects, and where each of them goes: two lists, of which the first looks up in the second.
SELECTED_ROWS = (
    HEAD
    + """@triton.jit
def spread_kernel(x_ptr, o_ptr, tokens_ptr, rows_ptr, n, causal, D: tl.constexpr, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    d = tl.arange(0, D)
    token = tl.load(tokens_ptr + i, mask=i < n, other=-1)
    row = tl.load(rows_ptr + token, mask=token != -1, other=-1)
    x = tl.load(x_ptr + token[:, None] * D + d[None, :], mask=(token != -1)[:, None], other=0.0)
    x = tl.where(token[:, None] >= causal + d[None, :], x, 0.0)
    tl.store(o_ptr + row[:, None] * D + d[None, :], x * x, mask=(token != -1)[:, None])
"""
)


def test_lists_that_look_up_where_to_store_lead_to_different_places(tmp_path: Path) -> None:
    """As those that stores are addressed by themselves do: else one program stores to one place twice."""
    _, report = check(tmp_path, SELECTED_ROWS)
    (kernel,) = report["kernels"]
    assert kernel["status"] == "proved", kernel


OF_AN_OBJECT = """import torch
import triton
import triton.language as tl


@triton.jit
def rows_kernel(q, t, d, out, stride_q, stride_t, stride_d, H: tl.constexpr, D: tl.constexpr, n, B: tl.constexpr):
    row = tl.program_id(1) + tl.program_id(2) * H
    start = tl.program_id(0) * B
    rows = start + tl.arange(0, B)
    cols = tl.arange(0, D)
    x = tl.load(q + row * stride_q + rows[:, None] * D + cols[None, :])
    shift = tl.load(t + row * stride_t + rows)
    scale = tl.load(d + row * stride_d + rows)
    tl.store(out + row * stride_q + rows[:, None] * D + cols[None, :], x * scale[:, None] + tl.exp(shift)[:, None] * n)


class Rows(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q, t, n):
        ctx.save_for_backward(q, t)
        ctx.n = n
        return q

    @staticmethod
    def backward(ctx, do):
        q, t = ctx.saved_tensors
        n = ctx.n
        b, h, _, width = q.shape
        d = torch.zeros((b, h, n), device=q.device)
        out = torch.zeros_like(q)
        rows_kernel[(triton.cdiv(n, 16), h, b)](q, t, d, out, q.stride(1), t.stride(1), d.stride(1), h, width, n, 16)
        return out, None, None
"""


def test_numbers_and_tensors_of_one_object_fit_each_other(tmp_path: Path) -> None:
    """`ctx.n` is a size of what `ctx` has saved, which nobody sees: another number is no launch."""
    status, report = check(tmp_path, OF_AN_OBJECT)
    (kernel,) = report["kernels"]
    assert (status, kernel["status"]) == (0, "proved"), kernel
