// The reverse sweep: each region is recomputed and then walked backwards; loops become loops, branches branches.
#ifndef TAD_AUTODIFF_SWEEP_ADJOINT_H
#define TAD_AUTODIFF_SWEEP_ADJOINT_H

#include "autodiff/state/differentiation.h"

/// Recomputes the primal body and emits its adjoint sweep at the end of the backward function. `state->failed` tells.
void adjoint_sweep(Differentiation *state);
/// Adds `gradient`, summed down to the value's own shape, to the adjoint of a primal value.
void adjoint_add(Differentiation *state, Value *primal, Value *gradient);

#endif
