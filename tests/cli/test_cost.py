"""`--cost`: what kernels move and compute, line by line and by one program; counted for a launch with `--sizes`."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Workspace

HEADER = "import triton\nimport triton.language as tl\n\n\n"
SCALE = (
    HEADER
    + """@triton.jit
def scale(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at, mask=at < n) * 2.0, mask=at < n)
"""
)
MATMUL = (
    HEADER
    + """@triton.autotune(
    configs=[
        triton.Config({"BM": 128, "BN": 128, "BK": 64}, num_warps=8),
        triton.Config({"BM": 64, "BN": 64, "BK": 32}, num_warps=4),
    ],
    key=["K"],
)
@triton.jit
def matmul(a: tl.pointer_type(tl.float16), b, c, K, sam, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros([BM, BN], dtype=tl.float32)
    for k in range(0, K, BK):
        ks = k + tl.arange(0, BK)
        x = tl.load(a + m[:, None] * sam + ks[None, :]).to(tl.float16)
        y = tl.load(b + ks[:, None] * 3 + n[None, :] * 7).to(tl.float16)
        acc += tl.dot(x, y)
    tl.store(c + m[:, None] * K + n[None, :], acc)
"""
)


def test_a_kernel_is_told_line_by_line(workspace: Workspace) -> None:
    workspace.write({"k.py": MATMUL})
    kernel = workspace.tad("--cost", "k.py", "--format", "json").json["kernels"][0]
    x, y, dot, store = kernel["lines"]
    assert MATMUL.splitlines()[x["line"] - 1].strip().startswith("x = tl.load")
    assert (x["amount"], x["times"], x["lanes"]) == ("4 to 16 KiB", "cdiv(K, BK)", "coalesced")
    assert y["lanes"] == "not coalesced: 3 elements apart"
    assert dot["kind"] == "dot" and dot["amount"] == "262 kFLOP to 2.1 MFLOP"
    assert store["kind"] == "writes" and store["times"] == "1"
    assert [program["name"] for program in kernel["programs"]] == [
        "configuration 1",
        "configuration 2",
    ]
    assert kernel["programs"][0]["read"] == "32768*cdiv(K, BK) bytes"
    assert kernel["programs"][0]["flop_per_byte"] == pytest.approx(64, rel=0.02)


def test_a_launch_is_counted(workspace: Workspace) -> None:
    """1000 elements in 8 blocks of 128: 24 lanes are masked off."""
    workspace.write({"k.py": SCALE})
    sizes = "n=1000,BLOCK=128,x=f32,y=f16,grid=8"
    result = workspace.tad("--cost", "k.py:scale", "--sizes", sizes, "--format", "json")
    launch = result.json["kernels"][0]["launch"]
    assert (launch["read"], launch["read_unmasked"]) == (4096, 4000)
    assert (launch["written"], launch["written_unmasked"]) == (2048, 2000)
    assert launch["other_flop"] == 1024 and launch["dot_flop"] == 0
    assert launch["exact"] and launch["masks_exact"]
    text = workspace.tad("--cost", "k.py", "--sizes", sizes).stdout
    assert "this launch: reads 4096 bytes (4000 unmasked)" in text


def test_a_configuration_takes_shared_memory_and_registers(workspace: Workspace) -> None:
    """`x` is loaded ahead, three times; `y`, whose neighbours are apart, once."""
    workspace.write({"k.py": MATMUL})
    kernel = workspace.tad("--cost", "k.py", "--card", "h100", "--format", "json").json["kernels"][
        0
    ]
    large, small = (program["footprint"] for program in kernel["programs"])
    assert large["estimated"] and (large["warps"], large["stages"]) == (8, 3)
    assert large["shared_bytes"] == 2 * (3 * 128 * 64 + 64 * 128)
    assert small["shared_bytes"] == 2 * (3 * 64 * 32 + 32 * 64)
    assert large["registers"] > small["registers"] > 32
    assert 0 < large["occupancy"] <= 1 and large["limited_by"] in (
        "registers",
        "shared memory",
        "warps",
    )
    text = workspace.tad("--cost", "k.py", "--card", "h100").stdout
    assert "about 64 KiB of shared memory and" in text and "registers a thread, estimated: " in text
    # Warps of older cards compute products by themselves, and copy the next tiles into one buffer less.
    older = workspace.tad("--cost", "k.py", "--card", "a100", "--format", "json").json["kernels"][0]
    assert older["programs"][0]["footprint"]["shared_bytes"] == 2 * (2 * 128 * 64 + 64 * 128)


def test_a_launch_takes_shared_memory(workspace: Workspace) -> None:
    """Fewer stages are fewer buffers; a card that the model was not held against says nothing."""
    workspace.write({"k.py": MATMUL})
    sizes = "BM=128,BN=128,BK=64,a=f16,b=f16,c=f16,grid=1x1,K=512,sam=512"

    def shared(stages: int, card: str = "h100") -> float | None:
        more = f"{sizes},num_warps=8,num_stages={stages}"
        result = workspace.tad(
            "--cost", "k.py", "--sizes", more, "--card", card, "--format", "json"
        )
        footprint = result.json["kernels"][0]["launch"]["footprint"]
        return footprint and footprint["shared_bytes"]

    assert [shared(stages) for stages in (2, 3, 4)] == [
        2 * (n * 128 * 64 + 64 * 128) for n in (2, 3, 4)
    ]
    assert shared(3, "t4") is None and shared(3, "mi300x") is None


PRODUCT = (
    HEADER
    + """CONFIGS
@triton.jit
def product(a, b, c, K, M: tl.constexpr, N: tl.constexpr, B: tl.constexpr):
    rows, columns, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, B)
    acc = tl.zeros([M, N], dtype=tl.float32)
    for start in range(0, K, B):
        x = tl.load(a + rows[:, None] * K + (start + k)[None, :])
        y = tl.load(b + (start + k)[:, None] * N + columns[None, :])
        acc += tl.dot(x, y)
    tl.store(c + rows[:, None] * N + columns[None, :], acc)


def launch(a, b, c):
    product[(1,)](a, b, c, a.shape[1]LAUNCH)
"""
)


@pytest.mark.parametrize(
    ("blocks", "launch", "severities"),
    [
        ([], ", M=256, N=256, B=128, num_stages=4", ["warning"]),
        (
            [],
            ", M=256, N=256, B=128, num_stages=2",
            [],
        ),  # above, by less than the estimate is sure of
        ([], ", M=256, N=256, B=32, num_stages=4", []),
        ([], ", M=256, N=256, B=size(a), num_stages=4", []),
        ([128, 32], ", M=256, N=256", ["info"]),
        ([128, 256], ", M=256, N=256", ["warning", "warning"]),
    ],
)
def test_more_shared_memory_than_any_card_has(
    workspace: Workspace, blocks: list[int], launch: str, severities: list[str]
) -> None:
    """An info where the tuner has others that fit: it leaves this one out."""
    configs = ", ".join(f'triton.Config({{"B": {block}}}, num_stages=4)' for block in blocks)
    tuned = f'@triton.autotune(configs=[{configs}], key=["K"])' if blocks else ""
    workspace.write({"k.py": PRODUCT.replace("CONFIGS", tuned).replace("LAUNCH", launch)})
    found = [one for one in workspace.check().json["diagnostics"] if one["name"] == "shared-memory"]
    assert [one["severity"] for one in found] == severities
    assert all("about 512 KiB" in one["message"] for one in found[:1])


@pytest.mark.parametrize(
    ("settings", "options", "message"),
    [
        ("", [], None),
        (
            'card = "a10g"',
            [],
            "about 160 KiB of shared memory in this launch, by an estimate, and has 99 KiB at most on the A10G: take",
        ),
        ('card = "a10g"', ["--card", "h100"], None),
        ('card = "h100"', ["--card", "l4"], "has 99 KiB at most on the L4: take"),
        ('card = "h100"', [], None),
        ('card = "t4"', [], None),  # nothing is known of how its compiler lays tiles out
    ],
)
def test_more_shared_memory_than_the_card_has(
    workspace: Workspace, settings: str, options: list[str], message: str | None
) -> None:
    """The project's own card decides, whatever folder the tool runs in; the command line's comes first."""
    text = PRODUCT.replace("CONFIGS", "").replace("LAUNCH", ", M=128, N=128, B=64, num_stages=6")
    workspace.write({"sub/k.py": text, "sub/pyproject.toml": f"[tool.tad]\n{settings}\n"})
    found = workspace.check("sub/k.py", *options).json["diagnostics"]
    said = [one["message"] for one in found if one["name"] == "shared-memory"]
    assert len(said) == (message is not None)
    assert not message or message in said[0]


def test_the_card_of_the_folder(workspace: Workspace) -> None:
    workspace.write({"k.py": SCALE, "pyproject.toml": '[tool.tad]\ncard = "h100"\n'})
    assert "memory-bound on h100, up to 4*BLOCK bytes" in workspace.tad("--cost", "k.py").stdout
    assert "FLOP a byte, at most 1.2 % of its arithmetic" in workspace.tad("--cost", "k.py").stdout
    assert "memory-bound on t4" in workspace.tad("--cost", "k.py", "--card", "t4").stdout
    workspace.write({"pyproject.toml": '[tool.tad]\ncard = "h1000"\n'})
    assert "pyproject.toml:2: `card` is one of a10g, a100" in workspace.check(".").stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["k.py:none"], "k.py has no kernel `none`"),
        (["k.py", "--card", "abacus"], "--card: there is no `abacus`; there are a10g"),
        (["k.py", "--format", "sarif"], "--cost has the formats full and json"),
        (["k.py", "--sizes", "n=4,BLOCK=4,x=f32,y=f32"], "--sizes needs the grid"),
        (["k.py", "--sizes", "n=4,x=f32,y=f32,grid=1"], "scale: --sizes does not say `BLOCK`"),
        (["k.py", "--sizes", "n=4,BLOCK=4,grid=1"], "element types as in `x_ptr=f16`"),
        (["k.py", "--sizes", "m=4,n=4,BLOCK=4,x=f32,y=f32,grid=1"], "--sizes: no kernel has `m`"),
    ],
)
def test_what_is_not_told(workspace: Workspace, arguments: list[str], says: str) -> None:
    workspace.write({"k.py": SCALE})
    result = workspace.tad("--cost", *arguments)
    assert result.status == 2
    assert says in result.stderr
