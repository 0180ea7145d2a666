// Inside autodiff/: tiles that loops of products load by a descriptor.
#ifndef TAD_AUTODIFF_PRODUCTS_TILE_DESCRIPTORS_H
#define TAD_AUTODIFF_PRODUCTS_TILE_DESCRIPTORS_H

#include "analysis/ir/ir.h"

typedef LIST(const Value *) ParameterValues;

/// What a launch must ask before such tiles are loaded: whether all start and all steps are multiples of 16 bytes, and rows have no gaps.
typedef struct DescribedTiles {
    ParameterValues tensors;
    LIST(ParameterValues) strides;  // products that places of elements are sums of multiples of
    ParameterValues ones;           // steps from element to element, which have to be 1
    ParameterValues rows;           // how many rows there are: at least one
} DescribedTiles;

/// Whether an operation is the load of a tile of whole rows, as many as are there, that a descriptor loads as well: zeros beyond the last row,
/// elements of a row side by side, the first row at no negative place. Adds what has to be asked.
bool load_has_descriptor(Arena *arena, Function *function, Op *load, DescribedTiles *asked);
/// Loads such a tile by a descriptor where `flag`, a constexpr parameter, holds. It is made where it is used: the compiler takes it out
/// of the loop.
void load_by_descriptor(Function *function, Op *load, Value *flag);

#endif
