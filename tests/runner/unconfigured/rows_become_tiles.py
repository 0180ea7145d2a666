"""An unrolled loop that carries a row, which becomes a tile of one row where it meets such tiles."""

import triton
import triton.language as tl


@triton.jit
def decayed(x_ptr, beta_ptr, y_ptr, N, T: tl.constexpr, B: tl.constexpr, dtype: tl.constexpr):
    at = tl.program_id(0) * B
    state = tl.zeros([B], dtype=dtype)
    one = tl.full([1], 1.0, dtype=dtype)
    for t in tl.static_range(0, T, 1):
        x_block = tl.make_block_ptr(x_ptr, (T, N), (N, 1), (t, at), (1, B), (1, 0))
        x = tl.load(x_block, boundary_check=(1,), padding_option="zero")
        beta_block = tl.make_block_ptr(beta_ptr, (T, N), (N, 1), (t, at), (1, B), (1, 0))
        beta = tl.load(beta_block, boundary_check=(1,), padding_option="zero")
        grown = tl.fma(beta, state, x)
        fires = (grown >= 1.0).to(dtype)
        state = grown * (one - fires)
        y_block = tl.make_block_ptr(y_ptr, (T, N), (N, 1), (t, at), (1, B), (1, 0))
        tl.store(y_block, state, boundary_check=(1,))
