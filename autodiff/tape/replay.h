// Inside autodiff/: contents of a tensor that the kernel overwrites later, made again in a copy from before the launch.
#ifndef TAD_AUTODIFF_TAPE_REPLAY_H
#define TAD_AUTODIFF_TAPE_REPLAY_H

#include "autodiff/state/differentiation.h"

/// Has the backward repeat these stores of the primal into `copy`, one of its parameters: what loads through it see.
void replay_plan(Differentiation *state, Value *copy, Op *const *stores, int count);
/// Has the recomputation of a load of the primal read the copy in which the stores to its buffer are repeated.
void replay_load(const Differentiation *state, const Op *load, Op *clone);
/// Sends a store of the recomputed forward to the copy that it is repeated in. False where it is repeated in none.
bool replay_keep(Differentiation *state, Op *store);
/// Drops the stores to copies that nothing reads.
void replay_prune(Differentiation *state);

#endif
