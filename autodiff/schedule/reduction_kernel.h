// A backward and the statements that are to move in; out either the kernel that sums what these add, whose programs share the
// owners of the elements and loop over the programs of the forward, or the rest of the backward, or one kernel that does both.
#ifndef TAD_AUTODIFF_SCHEDULE_REDUCTION_KERNEL_H
#define TAD_AUTODIFF_SCHEDULE_REDUCTION_KERNEL_H

#include "autodiff/schedule/reductions.h"

/// reduction_kernel.c: turns the backward under construction into the kernel of plan `index`. False where that cannot be.
bool reduction_take(Differentiation *state, const ReductionPlans *plans, int index);
/// The rest of it: the statements of plans that are `moved` go, and what their kernels read is stored.
void reductions_leave(Differentiation *state, const ReductionPlans *plans, const bool *moved);
/// Makes of the backward one kernel for all of it: up to SLICES programs do the work of all, one after the other, and keep the sums of the plan
/// in registers (scheduling.md, section 3). False where that cannot be.
bool reductions_join(Differentiation *state, const ReductionPlan *plan);

#endif
