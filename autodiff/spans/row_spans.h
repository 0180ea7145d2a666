// Rows of an output that memory tells a program to store.
#ifndef TAD_AUTODIFF_SPANS_ROW_SPANS_H
#define TAD_AUTODIFF_SPANS_ROW_SPANS_H

#include "autodiff/state/differentiation.h"

/// Sets `spans` of an assumption that no two programs store to one element: where the rows that each of them stores begin and end,
/// which the Function compares. The assumption stays as it is where that cannot be said exactly: rows that are left out by a mask
/// that is not understood, that are not next to each other, or that a tuner's choice decides.
void row_spans_describe(Differentiation *state, const Op *store, Assumption *assumption);
/// The same of elements in the place of rows: lanes that follow each other from an address of the program's on, which no memory need tell.
void element_spans_describe(Differentiation *state, const Op *store, Assumption *assumption);
/// Whether lanes go on from the number that memory tells (`y + load(start + program) + arange`): places that differ do not keep these
/// apart.
bool row_spans_have_lanes(Arena *arena, const Op *store);

#endif
