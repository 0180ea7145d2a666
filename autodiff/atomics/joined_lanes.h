// Lanes of one addition that may be of one element: the first of each such element adds for all.
#ifndef TAD_AUTODIFF_ATOMICS_JOINED_LANES_H
#define TAD_AUTODIFF_ATOMICS_JOINED_LANES_H

#include "autodiff/state/differentiation.h"

/// Whether the lanes lie along one axis, and each has a whole number that says which element it has.
bool lanes_have_numbers(const Op *addition);
/// Makes the first lane of each element add what all lanes of it would have added; the others are masked out.
void lanes_join(Differentiation *state, Op *addition);

#endif
