// Loads that run ahead: how many iterations of a loop over programs are in flight, where nothing in it keeps them apart.
#ifndef TAD_AUTODIFF_SCHEDULE_STAGES_H
#define TAD_AUTODIFF_SCHEDULE_STAGES_H

#include "autodiff/state/differentiation.h"

/// Gives the loop `num_stages=STAGES`, and the backward that parameter, which is 1 unless a launch passes more. Does nothing for a loop
/// with products or loops in it (Triton decides about these), without tiles to load, or one that stores to a buffer which it loads.
void stages_add(Differentiation *state, Op *loop);
/// The same for each loop of a kernel whose programs hold a row, and go through several. Not where programs take turns with rows: those
/// become programs (blocks/turns.c).
void stages_add_to_rows(Differentiation *state);
/// Fills `stages` of the launch, whose arguments are in the order of the parameters of `backward`: the tensors whose tiles such a loop
/// loads in each iteration.
void stages_describe(Function *backward, BackwardLaunch *launch);

#endif
