// Statements that several programs add with in; those that a gradient-reduction kernel can sum, and what it has to read from memory, out.
#ifndef TAD_AUTODIFF_SCHEDULE_REDUCTION_PLAN_H
#define TAD_AUTODIFF_SCHEDULE_REDUCTION_PLAN_H

#include "autodiff/schedule/reductions.h"

/// Whether an axis of the grid, or what its ids number, is summed over.
bool axis_is_summed(const ReductionPlan *plan, int axis);
/// reduction_plan.c: which statements can move, those with the same owners together.
ReductionPlans reductions_plan(Differentiation *state, const TileOrders *orders);
/// Whether a kernel that streams can do all that the backward does in one pass over what it reads, and `plan` for it: all programs add to
/// the same elements, as to a norm's weights, and the plan sums all that kernels of their own could sum (`apart`). Not where there are
/// products or loops. Not where programs along an axis own elements (tables of positions): nobody may ask for these gradients, and
/// kernels of their own are left out then.
bool reductions_fit_one_pass(Differentiation *state, const TileOrders *orders,
                             const ReductionPlans *apart, ReductionPlan *plan);
/// Whether what programs add may go to shares of their own, and `plan` for it: statements that add less than the programs read for
/// them, as a number for each tile, so that shares cost little. Where they share other axes, programs are apart along all of these.
/// Those that kernels of their own sum are no more there. False as well where more gradients would need atomics than somebody wants.
bool reductions_keep_shares(Differentiation *state, const TileOrders *orders, ReductionPlan *plan);
/// How many gradients need atomics beside such shares, at least; `all`: with a share of all for each program. INT_MAX where there are none.
int reductions_beside_shares(Differentiation *state, const TileOrders *orders, bool all);
/// Whether a statement adds to other elements, or under other masks and branches, in programs along the summed axes or in iterations
/// of the loops around it: its sum cannot wait in registers.
bool statement_differs(const ReductionPlan *plan, const Op *statement);
/// Whether a value of the backward tells programs along the summed axes apart, or iterations of loops that are summed over.
bool owners_differ(const ReductionPlan *plan, Value *value);

#endif
