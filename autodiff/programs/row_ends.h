// Rows that a length in memory ends.
#ifndef TAD_AUTODIFF_PROGRAMS_ROW_ENDS_H
#define TAD_AUTODIFF_PROGRAMS_ROW_ENDS_H

#include "autodiff/extents/stored_digits.h"
#include "autodiff/state/differentiation.h"

/// What ends the row that a program accesses: its mask compares the places in the row with one length, which each program reads for
/// itself. Nothing is known (`lengths` is NULL) of other masks.
RowEnds row_ends_of(Differentiation *state, StoredSearch *coverage, Op *op);

#endif
