// Inside autodiff/sweep/: largest and smallest elements that loops find.
#ifndef TAD_AUTODIFF_SWEEP_EXTREMES_H
#define TAD_AUTODIFF_SWEEP_EXTREMES_H

#include "autodiff/state/differentiation.h"

/// Finds loops that do nothing with a value that they carry but to take the larger (or the smaller) of it and elements that are loaded, one
/// after the other: in loops within them as well. Then the element that is equal to the last value has its gradient, and no state of an
/// iteration is needed. Elements are compared with what another loop found, so nothing may be computed of them that rounds. Where it can,
/// has the loops carry the number of the first iteration with the extreme, too: no element is loaded again then.
void extremes_find(Differentiation *state);
/// Whether what the loop carries at `index` is such a value.
bool loop_finds_extreme(const Differentiation *state, const Op *loop, int index);
/// The rule of such an operation: an element that is the last value takes the gradient, which is otherwise handed on to those before.
/// False where it is none of these.
bool running_extreme_rule(Differentiation *state, const Op *op, Value *gradient);

#endif
