// What comparisons say of the lanes of a tile of integers: the room that they leave, and branches that are taken only where all lanes have it.
#ifndef TAD_ANALYSIS_ADDRESSES_GUARDS_H
#define TAD_ANALYSIS_ADDRESSES_GUARDS_H

#include "analysis/addresses/affine.h"

/// Whether two ordering comparisons of tiles leave the same lanes, as `start + i < n` and `i < n - start` do; axes that were added
/// to one of them do not matter. False where that is not known.
bool guard_is_same(Arena *arena, const Op *a, const Op *b);
/// Whether `op` stands in a branch that is taken only where the ordering comparison holds in all lanes, as all of `start + i < n` do
/// under `if start + BLOCK <= n`. False where that is not known.
bool guard_covers(Arena *arena, const Op *op, const Op *comparison);
/// Whether the ordering comparison holds in all lanes, whatever the numbers are: by itself, as `pid * D + i < (pid + 1) * D` does where
/// the tile has D lanes, or because a loop counts whole tiles, as in `range(n // BLOCK)`. False where that is not known.
bool guard_always_holds(Arena *arena, const Op *comparison);

#endif
