// Inside autodiff/: the mask of a tile between products, under a branch that only tiles which it cuts take.
#ifndef TAD_AUTODIFF_PRODUCTS_CUT_MASKS_H
#define TAD_AUTODIFF_PRODUCTS_CUT_MASKS_H

#include "analysis/ir/ir.h"

/// In loops of several products, `s = where(mask, s, other)` is put under a branch where the mask is made of comparisons of whole numbers
/// whose largest and smallest lanes are known: where all of these hold for all lanes, the tile is as it was. Numbers do not change. What
/// only the mask needs is computed in the branch.
void function_branch_masks(Function *function);

#endif
