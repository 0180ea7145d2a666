// Statements that several programs add with in; those that a gradient-reduction kernel can sum, and what it has to read from memory, out.
#ifndef TAD_AUTODIFF_SCHEDULE_REDUCTION_PLAN_H
#define TAD_AUTODIFF_SCHEDULE_REDUCTION_PLAN_H

#include "autodiff/schedule/reductions.h"

/// reduction_plan.c: which statements can move, those with the same owners together.
ReductionPlans reductions_plan(Differentiation *state, const TileOrders *orders);
/// Whether a kernel that streams can do all that the backward does in one pass over what it reads, and `plan` for it: no loop owns elements
/// that programs share, and it sums all that kernels of their own could sum (the plans `apart`). Not where there are products: few programs
/// with a share of the rows each would leave a part of the GPU idle.
bool reductions_fit_one_pass(Differentiation *state, const TileOrders *orders,
                             const ReductionPlans *apart, ReductionPlan *plan);
/// Whether a value of the backward tells programs along the summed axes apart, or iterations of loops that are summed over.
bool owners_differ(const ReductionPlan *plan, Value *value);

#endif
