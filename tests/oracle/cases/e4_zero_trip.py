"""A loop that may not run at all."""

# case: {"class": "nan", "call": "(m.embed(ids, table, out, 2), out)[1]", "inputs": {"ids": {"shape": [5], "dtype": "int64", "values": [0, 2, 9, 4, 3]}, "table": [4, 8], "out": {"shape": [5, 8], "in_place": true}}}

import torch, triton
import triton.language as tl

@triton.jit
def emb(ids, table, out, lo, hi, D: tl.constexpr):
    i = tl.program_id(0)
    t = tl.load(ids + i)
    d = tl.arange(0, D)
    for _ in range(0, tl.where((t >= lo) & (t < hi), 1, 0)):
        tl.store(out + i * D + d, tl.load(table + (t - lo) * D + d))

def embed(ids, table, out, lo):
    emb[(ids.shape[0],)](ids, table, out, lo, lo + table.shape[0], D=table.shape[1])
