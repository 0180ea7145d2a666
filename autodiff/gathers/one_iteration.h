// Inside autodiff/gathers/: loops of which a lane has one iteration.
#ifndef TAD_AUTODIFF_GATHERS_ONE_ITERATION_H
#define TAD_AUTODIFF_GATHERS_ONE_ITERATION_H

#include "analysis/ir/ir.h"

/// Where loops do nothing but an atomic addition in the lanes whose `place` is the iteration's number (the tap of a window that is the largest):
/// computes the loops' variables of `place`, and adds once, without them. Places that are no iteration's number add nothing, as before.
void loops_take_one_iteration(Function *function);

#endif
