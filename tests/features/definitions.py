"""Definitions and references: `def` names a label, `ref` all places of a name in order, by their labels."""

import triton
import triton.language as tl

SCALE = tl.constexpr(2.0)
# <^^^ label: SCALE


@triton.jit
def helper(x):
    # <^^^^ label: helper
    #      ^ label: helper_x
    return x * SCALE
    #      ^ def: helper_x
    #          ^^^^^ def: SCALE


@triton.autotune(configs=[triton.Config({"BLOCK": 64}), triton.Config({"BLOCK": 128})], key=["n"])
#                                         ^^^^^ label: config_1
#                                                                       ^^^^^ label: config_2
#                                                                                             ^ label: key_n
@triton.jit
def kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    # <^^^^ label: kernel
    #      ^^^^^ label: x_ptr
    #                    ^ label: n
    #                       ^^^^^ label: BLOCK
    offsets = tl.arange(0, BLOCK)
    # <^^^^^^ label: offsets
    #                      ^^^^^ label: BLOCK_use
    #                      ^^^^^ def: BLOCK
    x = tl.load(x_ptr + offsets, mask=offsets < n)
    # <^ label: x_first
    #   ^^ label: load
    #           ^^^^^ def: x_ptr
    #                   ^^^^^^^ def: offsets
    #                                           ^ label: n_use
    x = helper(x)
    # <^ label: x_second
    #   ^^^^^^ def: helper
    #          ^ def: x_first
    #          ^ label: x_use
    tl.store(y_ptr + offsets, x, mask=offsets < n)
    #                         ^ def: x_second
    #                         ^ label: x_last
    #                         ^ type: load
    #                         ^ ref: x_first x_second x_use x_last
    #                                           ^ label: n_last


def launch(x, y):
    grid = lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)
    #                                                 ^^^^^ label: meta
    #                                                 ^^^^^ ref: config_1 config_2 BLOCK BLOCK_use meta
    kernel[grid](x, y, n=x.numel())
    # <^^^^ def: kernel
    #                  ^ def: n
    #                  ^ label: n_keyword
    #                  ^ ref: key_n n n_use n_last n_keyword
    return y
