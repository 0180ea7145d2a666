// Inside autodiff/: an element that is read by an index from memory, beside the row that it lies in.
#ifndef TAD_AUTODIFF_ATOMICS_PICKED_H
#define TAD_AUTODIFF_ATOMICS_PICKED_H

#include "autodiff/state/differentiation.h"

/// An addition to one element, `row + label`, that the addition to the row's own tile can take over: `where(columns == label, ...)`.
typedef struct Pick Pick;

/// How the addition `row` of a tile takes over `picked`, an addition of the same program to one element at an index from memory. It
/// may leave operations without effects. NULL where the index is not one along the row, or nothing says which part of a row the tiles
/// are, or what is added is not known in front of them. `is_single`: the gradient has no further additions, so that the element may be
/// stored alone where a branch leaves the row out.
Pick *pick_plan(Differentiation *state, const Accumulation *picked, const Accumulation *row,
                bool is_single);
/// Makes it so: `picked` is gone. An index outside of what the tiles of the row touch makes the row's gradient NaN, unless 0 is
/// added; the diagnostic `gradient-assumes-distinct` says that this was assumed.
void pick_fold(Differentiation *state, Pick *pick);

#endif
