// Where each gradient is summed (scheduling.md, sections 1 and 3): private ones become plain stores, shared ones stay atomics.
// Statements of consecutive loops that hit the same elements are first moved into the last of them. Shared ones that are alone
// may move to a kernel of their own (reductions.h).
#ifndef TAD_AUTODIFF_SCHEDULE_SCHEDULE_H
#define TAD_AUTODIFF_SCHEDULE_SCHEDULE_H

#include "autodiff/state/differentiation.h"

/// The axes of the backward, with those along which only additions to the forward's outputs tell programs apart.
FunctionAxes backward_axes(Differentiation *state);
/// After the sweep: decides per gradient between plain stores and atomics and rewrites the accumulations. Fills `gradients`.
void schedule_accumulations(Differentiation *state, Backward *result);

#endif
