// Inside autodiff/: gradients of a tensor that is read at places a fixed distance apart, as neighbours of a row or of an element are.
#ifndef TAD_AUTODIFF_ATOMICS_NEIGHBOURS_H
#define TAD_AUTODIFF_ATOMICS_NEIGHBOURS_H

#include "autodiff/state/differentiation.h"

/// Makes of statements that add to elements a fixed number of programs, or of elements of a flat index, apart one statement: whoever
/// owns an element adds what each of its readers would have added, and computes it again from what that reader loads. The count of
/// statements that are left in `group`, none of which meets another; -1, and nothing is changed, where that is not possible: what
/// they add has to be made of loads and of operations element by element.
int neighbours_gather(Differentiation *state, Accumulation *group, int count);

#endif
