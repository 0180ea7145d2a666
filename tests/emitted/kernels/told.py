import torch
import triton
import triton.language as tl


# heads of packed sequences in chunks of rows; without offsets, sequences of one length
@triton.jit
def chunk_kernel(
    q,
    g,
    y,
    starts,
    chunks,
    T,
    H: tl.constexpr,
    D: tl.constexpr,
    C: tl.constexpr,
    B: tl.constexpr,
    VARIABLE: tl.constexpr,
):
    block = tl.program_id(0)
    batch = tl.program_id(1) // H
    head = tl.program_id(1) % H
    if VARIABLE:
        part = tl.load(chunks + block * 2)
        block = tl.load(chunks + block * 2 + 1)
        first = tl.load(starts + part)
        length = tl.load(starts + part + 1) - first
    else:
        first = batch * T
        length = T
    rows = block * B + tl.arange(0, B)
    inside = rows < length
    gate = tl.load(g + (first + rows) * H + head, mask=inside, other=0.0)
    for c in range(tl.cdiv(D, C)):
        cols = c * C + tl.arange(0, C)
        at = ((first + rows) * H + head)[:, None] * D + cols[None, :]
        here = inside[:, None] & (cols < D)[None, :]
        a = tl.load(q + at, mask=here, other=0.0)
        to = ((first + rows) * H + head)[:, None] * D + cols[None, :]
        tl.store(y + to, tl.sin(a) * gate[:, None], mask=here)


def in_chunks(q, g, starts=None):
    y = torch.empty_like(q)
    B, H, D = 8, q.shape[-2], q.shape[-1]
    if starts is None:
        T = q.shape[1]
        grid = (triton.cdiv(T, B), q.shape[0] * H)
        chunk_kernel[grid](q, g, y, None, None, T, H=H, D=D, C=4, B=B, VARIABLE=False)
        return y
    lengths = (starts[1:] - starts[:-1]).tolist()
    chunks = torch.tensor(
        [[part, i] for part, n in enumerate(lengths) for i in range(triton.cdiv(n, B))],
        dtype=torch.int64,
        device=q.device,
    )
    grid = (chunks.shape[0], H)
    chunk_kernel[grid](q, g, y, starts, chunks, q.shape[0], H=H, D=D, C=4, B=B, VARIABLE=True)
    return y
