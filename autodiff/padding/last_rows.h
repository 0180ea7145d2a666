// Inside autodiff/: the last row of a program's own tile, read beside the tile.
#ifndef TAD_AUTODIFF_PADDING_LAST_ROWS_H
#define TAD_AUTODIFF_PADDING_LAST_ROWS_H

#include "autodiff/state/differentiation.h"

/// Of a tile whose rows a mask ends (`start + lanes < end`), a kernel may read the last row apart: `minimum(start + BLOCK, end) - 1`, as the
/// decay at the end of a chunk. Of two such additions to one gradient that of the row goes into that of the tile: `where(rows == last, ...)`.
/// So it is where the mask of the tile has all elements that the row's addition has, and where the tile has a row at all: conditions around
/// the addition say so, or it adds 0 otherwise.
void accumulations_take_last_rows(Differentiation *state);

#endif
