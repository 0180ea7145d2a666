// A loop that goes from block to block, and adds up products along these: the same in parts of a block.
#ifndef TAD_AUTODIFF_PRODUCTS_LOOP_PARTS_H
#define TAD_AUTODIFF_PRODUCTS_LOOP_PARTS_H

#include "analysis/ir/ir.h"

/// The constexpr parameter whose lanes an iteration of the loop adds up, where it may add up a part of them at a time: all that it carries
/// are sums along these lanes, and all else is computed lane by lane. NULL: it may not, or has fewer than two products.
Value *loop_block_in_parts(Arena *arena, const Op *loop);
/// Makes an iteration of each part of such a block: `parts` of them, a constexpr that divides the block.
void loop_take_parts(Function *function, Op *loop, Value *block, Value *parts);

#endif
