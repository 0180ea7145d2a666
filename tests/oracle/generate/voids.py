"""Rows whose elements are all masked: a softmax of nothing but -inf is NaN, which the author drops later."""

from __future__ import annotations

from tests.oracle.case import Input
from tests.oracle.generate.kit import KERNELS
from tests.oracle.generate.maker import Maker

# What leaves elements of a row out; some rows keep none.
MASKS = {
    "lengths": "n = tl.load(n_ptr + i, mask=live, other=0)\n{ok} = j[None, :] < n[:, None]",
    "starts": "n = tl.load(n_ptr + i, mask=live, other=S)\n{ok} = (j[None, :] < S) & (j[None, :] >= n[:, None])",
    "given": (
        "{ok} = tl.load(n_ptr + i[:, None] * S + j[None, :], "
        "mask=live[:, None] & (j < S)[None, :], other=0) != 0"
    ),
    "last": "{ok} = (j[None, :] < S) & (j[None, :] <= i[:, None] + S - T)",
}
HIDDEN = {
    "numbers": "{o} = tl.where({o} == {o}, {o}, 0.0)",
    "nans": "{o} = tl.where({o} != {o}, 0.0, {o})",
    "any": "seen = tl.sum({ok}.to(tl.int32), axis=1) > 0\n{o} = tl.where(seen[:, None], {o}, 0.0)",
    "none": "seen = tl.max({ok}.to(tl.int32), axis=1) == 0\n{o} = tl.where(seen[:, None], 0.0, {o})",
    "weights": "",
}


def voids(m: Maker) -> None:
    """An attention some of whose queries see no key."""
    mask, hidden = str(m.pick(*MASKS)), str(m.pick(*HIDDEN))
    name = m.file.names.fresh(KERNELS)
    o, p, ok = m.pick("o", "acc", "out"), m.pick("p", "weights"), m.pick("ok", "keep", "visible")
    rows, keys = m.random.randint(2, 4), m.random.randint(3, 6)
    if mask == "last":
        rows = keys + m.random.randint(1, 3)
    tile = m.pick(1, 2, 4)
    late = hidden != "weights" and m.chance(0.3)
    lines = MASKS[mask].format(ok=ok).splitlines()
    if m.chance(0.7):
        lines += [
            f"s = tl.where({ok}, s, -float('inf'))",
            f"{p} = tl.exp(s - tl.max(s, axis=1)[:, None])",
        ]
    else:
        lines += [f"{p} = tl.where({ok}, tl.exp(s), 0.0)"]
    lines += [f"l = tl.sum({p}, axis=1)"]
    if not late:
        lines += [f"{p} = {p} / l[:, None]"]
    if hidden == "weights":
        lines += [f"{p} = tl.where({p} == {p}, {p}, 0.0)"]
    lines += [f"{o} = tl.sum({p}[:, :, None] * v[None, :, :], axis=1)"]
    if late:
        lines += [f"{o} = {o} / l[:, None]"]
    lines += HIDDEN[hidden].format(o=o, ok=ok).splitlines()
    body = "\n".join("    " + line for line in lines)
    m.file.add(f"""
@triton.jit
def {name}(q_ptr, k_ptr, v_ptr, n_ptr, o_ptr, T, S, scale, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    i = tl.program_id(0) * BM + tl.arange(0, BM)
    d = tl.arange(0, D)
    j = tl.arange(0, BN)
    live = i < T
    at = i[:, None] * D + d[None, :]
    q = tl.load(q_ptr + at, mask=live[:, None], other=0.0) * scale
    k = tl.load(k_ptr + j[:, None] * D + d[None, :], mask=(j < S)[:, None], other=0.0)
    v = tl.load(v_ptr + j[:, None] * D + d[None, :], mask=(j < S)[:, None], other=0.0)
    s = tl.sum(q[:, None, :] * k[None, :, :], axis=2)
{body}
    tl.store(o_ptr + at, {o}, mask=live[:, None])
""")
    m.function(
        "q, k, v, n",
        f"""
out = torch.empty_like(q)
T, S = q.shape[0], k.shape[0]
{name}[(triton.cdiv(T, {tile}),)](q, k, v, n, out, T, S, 0.5, D=4, BM={tile}, BN=8)
return out
""",
    )
    shape = [rows, keys] if mask == "given" else [rows]
    values = [m.random.randint(0, keys) for _ in range(rows)]
    values[m.random.randrange(rows)] = 0 if mask == "lengths" else keys
    if mask == "given":
        values = [m.random.randint(0, 1) for _ in range(rows * keys)]
        at = m.random.randrange(rows) * keys
        values[at : at + keys] = [0] * keys
    n = Input(shape, "int32", grad=False, values=values)
    m.call(f"m.{m.launcher}(q, k, v, n)", {"q": [rows, 4], "k": [keys, 4], "v": [keys, 4], "n": n})
