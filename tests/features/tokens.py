"""Semantic tokens. On a line with markers, every token is marked."""

import triton
import triton.language as tl

WIDTH: tl.constexpr = 16


@triton.jit
def kernel(x_ptr, n, BLOCK: tl.constexpr):
    # <^^^^ token: KERNEL declaration
    #      ^^^^^ token: POINTER declaration pointer
    #             ^ token: SCALAR declaration
    #                ^^^^^ token: CONSTEXPR declaration readonly
    #                       ^^ token: NAMESPACE defaultLibrary
    #                          ^^^^^^^^^ token: OPERATION defaultLibrary
    offsets = tl.arange(0, BLOCK) + WIDTH
    # <^^^^^^ token: TILE declaration
    #         ^^ token: NAMESPACE defaultLibrary
    #            ^^^^^^ token: OPERATION defaultLibrary
    #                      ^^^^^ token: CONSTEXPR readonly
    #                               ^^^^^ token: CONSTEXPR readonly
    x = tl.load(x_ptr + offsets).to(tl.float32)
    # <^ token: TILE declaration
    #   ^^ token: NAMESPACE defaultLibrary
    #      ^^^^ token: OPERATION defaultLibrary
    #           ^^^^^ token: POINTER pointer
    #                   ^^^^^^^ token: TILE
    #                            ^^ token: OPERATION defaultLibrary
    #                               ^^ token: NAMESPACE defaultLibrary
    #                                  ^^^^^^^ token: DTYPE defaultLibrary
    tl.store(x_ptr + offsets, x, mask=offsets < n)


def launch(x):
    kernel[(1,)](x, x.numel(), BLOCK=16)
    # <^^^^ token: KERNEL
    #                          ^^^^^ token: CONSTEXPR readonly
    return x
