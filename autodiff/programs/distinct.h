// Indices in memory that tell where each program or lane stores.
#ifndef TAD_AUTODIFF_PROGRAMS_DISTINCT_H
#define TAD_AUTODIFF_PROGRAMS_DISTINCT_H

#include "autodiff/state/differentiation.h"

/// Where one index alone, from memory, tells the store's places apart: its tensor and the elements that the launch reads of it, for the
/// Function to compare. Two that are equal, and not below 0, are then certainly of one element. Else the assumption stays as it is.
void distinct_describe(Differentiation *state, const Op *store, Assumption *assumption);

#endif
