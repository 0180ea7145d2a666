// A backward whose tile numbers elements one after the other in, and gradients that digits of that number tell apart; out the same work
// with a loop of owners, in which a program takes one turn with each of them.
#ifndef TAD_AUTODIFF_SCHEDULE_FLAT_KERNEL_H
#define TAD_AUTODIFF_SCHEDULE_FLAT_KERNEL_H

#include "autodiff/schedule/reductions.h"

/// Rewrites the backward, and makes the plan that sums over turns. False where the backward is of another form; it may be half made then.
/// All that it does has to be by element of a tile `program * lanes + lane`, which every program along the only axis has one of.
bool flat_take(Differentiation *state, const TileOrders *orders, ReductionPlan *plan);

/// Of the last of such kernels: leaves in the backward what it adds up to gradients of one element, where there are these beside the others.
/// False where the part is another one: nothing is changed then.
bool flat_take_sums(Differentiation *state);

/// False where flat_take is sure to say no: a loop or a branch of the backward writes something.
bool flat_may_take(const Differentiation *state);

#endif
