// What the launch of several variants of one kernel, below one `if`, may choose of its blocks.
#ifndef TAD_AUTODIFF_BLOCKS_JOINED_LAUNCHES_H
#define TAD_AUTODIFF_BLOCKS_JOINED_LAUNCHES_H

#include "autodiff/state/result.h"

/// Gives `into` the blocks of a loop of products, where the launches all have the same: such a block is as free below the `if` as it is in
/// each variant. How much room a tile takes is that of the first.
void launches_join_loops(Arena *arena, const BackwardLaunch *const *launches, int count,
                         BackwardLaunch *into);

#endif
