// Inside autodiff/: whether what a program goes through is a whole row of a tensor.
#ifndef TAD_AUTODIFF_ATOMICS_ROWS_H
#define TAD_AUTODIFF_ATOMICS_ROWS_H

#include "autodiff/state/differentiation.h"

/// Columns from 0 up to `end`, which tiles of one row have: `address = row + weight * column`.
typedef struct RowTiles {
    const Parameter *input;  // of the forward
    const Poly *base;        // of the address, in elements: with the row, without lanes
    const Poly *weight;
    const Poly *end;
} RowTiles;

/// Whether nothing of the tensor lies in the row beyond `end`: rows follow each other after as many elements, or each launch of the
/// file passes the tensor's own size for `end`. False where it is not known.
bool row_is_whole(const Differentiation *state, const RowTiles *tiles);

#endif
