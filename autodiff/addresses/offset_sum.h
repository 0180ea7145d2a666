// Inside autodiff/: an address as a sum of tiles that need not be linear in their lanes.
#ifndef TAD_AUTODIFF_ADDRESSES_OFFSET_SUM_H
#define TAD_AUTODIFF_ADDRESSES_OFFSET_SUM_H

#include "analysis/ir/ir.h"
#include "base/list.h"

/// A tile of numbers, times a number that no lane changes.
typedef struct OffsetTerm {
    const Value *tile;
    int axes[TYPE_MAX_RANK];  // of the address's, by the tile's
    const Poly *weight;
} OffsetTerm;

/// `root + base + sum of the terms`, in elements.
typedef struct OffsetSum {
    bool known;  // false: the pointer is no such sum, or it has too many terms
    const Value *root;
    const Poly *base;
    LIST(OffsetTerm) terms;
} OffsetSum;

/// The sum that a tile of pointers is. Equal tiles have to be one value, as the pass `simplify` leaves them. In `arena`.
OffsetSum offset_sum_of(Arena *arena, Value *pointer);
/// How many elements `a` is behind `b`, each from its own root; NULL where that differs from lane to lane, or is not known.
const Poly *offset_sum_distance(Arena *arena, const OffsetSum *a, const OffsetSum *b);

#endif
