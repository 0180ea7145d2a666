"""Globals that Python computes: by name where nobody else knows them, by value where they are an enumeration's."""

import enum

import triton
import triton.language as tl
from project import settings


class Layout(enum.Enum):
    ROWS = 0
    COLUMNS = 1


LAYOUT_COLUMNS: tl.constexpr = tl.constexpr(Layout.COLUMNS.value)
PRECISION = tl.constexpr("ieee" if settings.exact else "tf32")


@triton.jit
def product(x_ptr, w_ptr, y_ptr, LAYOUT: tl.constexpr, B: tl.constexpr):
    at = tl.arange(0, B)
    if LAYOUT == LAYOUT_COLUMNS:
        p = at[None, :] * B + at[:, None]
    else:
        p = at[:, None] * B + at[None, :]
    x = tl.load(x_ptr + p)
    w = tl.load(w_ptr + p)
    tl.store(y_ptr + p, tl.dot(x * x, w, input_precision=PRECISION))
