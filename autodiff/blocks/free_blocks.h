// Which block sizes of an emitted kernel are its own to choose: the kernel computes the same for others, on a grid that covers the same.
#ifndef TAD_AUTODIFF_BLOCKS_FREE_BLOCKS_H
#define TAD_AUTODIFF_BLOCKS_FREE_BLOCKS_H

#include "autodiff/state/result.h"

/// Fills `blocks` of the launch, whose arguments are in the order of the parameters of `backward`; which may have an OP_TILE_INDEX of each row and
/// column of tiles that ids number, and then `counts`, two by the axis: how many programs have a tile in this one's column, and in its row,
/// where each tile has one; or NULL. In `arena`.
void blocks_describe(Arena *arena, Function *backward, Value *const *counts,
                     BackwardLaunch *launch);
/// Tiles that a loop of the function carries at once.
int carried_tiles(const Function *function);

#endif
