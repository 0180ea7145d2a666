// Inside autodiff/: each element that a store writes to, in Python over all programs and lanes.
#ifndef TAD_AUTODIFF_SPANS_LANE_ELEMENTS_H
#define TAD_AUTODIFF_SPANS_LANE_ELEMENTS_H

#include "autodiff/state/differentiation.h"

/// Sets `spans` of an assumption that no two programs or lanes store to one element: which one each lane stores to, and whether it does. The
/// Function compares all of them. The assumption stays as it is where that cannot be said exactly, where iterations store, and where
/// what is stored is read at the same places: then lanes that meet store the same.
void lane_elements_describe(Differentiation *state, const Op *store, Assumption *assumption);

#endif
