"""Kernels that a function makes, with names of their own around them; sums that start as integers are of integers."""

import functools


@functools.lru_cache
def kernels():
    import triton
    import triton.language as tl

    try:
        from triton.language.extra import libdevice
    except ImportError:
        from triton.language.extra.cuda import libdevice

    _inverse_root = libdevice.rsqrt
    _product = libdevice.mul_rn

    @triton.jit
    def normalised(x_ptr, y_ptr, n, eps, B: tl.constexpr):
        at = tl.arange(0, B)
        row = tl.program_id(0)
        x = tl.load(x_ptr + row * n + at, mask=at < n, other=0.0).to(tl.float32)
        scale = _inverse_root(tl.sum(x * x, axis=0) / n + eps)
        tl.store(y_ptr + row * n + at, _product(x, scale), mask=at < n)

    @triton.jit
    def counted(x_ptr, counts, y_ptr, n, m, B: tl.constexpr):
        at = tl.arange(0, B)
        total = 0
        for start in range(0, m, B):
            total += tl.sum(tl.load(counts + start + at, mask=start + at < m, other=0))
        x = tl.load(x_ptr + at, mask=at < n, other=0.0)
        tl.store(y_ptr + at, x * total, mask=at < n)

    return normalised, counted
