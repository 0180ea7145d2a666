// A backward and the statements that are to move in; out either the kernel that sums what these add, whose programs share the
// owners of the elements and loop over the programs of the forward, or the rest of the backward, or one kernel that does both.
#ifndef TAD_AUTODIFF_SCHEDULE_REDUCTION_KERNEL_H
#define TAD_AUTODIFF_SCHEDULE_REDUCTION_KERNEL_H

#include "autodiff/schedule/reductions.h"

/// reduction_kernel.c: turns the backward under construction into the kernel of plan `index`. False where that cannot be.
bool reduction_take(Differentiation *state, const ReductionPlans *plans, int index);
/// The rest of it: the statements of plans that are `moved` go, and what their kernels read is stored.
void reductions_leave(Differentiation *state, const ReductionPlans *plans, const bool *moved);
/// Whether a kernel that streams can do both in one pass over what it reads: no loop owns the elements, all programs add to the same.
/// Not where there are products: few programs with a share of the rows each would leave a part of the GPU idle.
bool reductions_fit_one_pass(const Differentiation *state, const ReductionPlans *plans);
/// Makes that kernel: up to SLICES programs do the work of all, one after the other, and keep the sums in registers (scheduling.md, section
/// 3). False where it does not fit.
bool reductions_join(Differentiation *state, const ReductionPlans *plans);

#endif
