// Inside autodiff/: the last block of a loop, done behind it, as one more of its iterations.
#ifndef TAD_AUTODIFF_PRIMAL_REROLL_H
#define TAD_AUTODIFF_PRIMAL_REROLL_H

#include "autodiff/state/differentiation.h"

/// A loop over whole blocks (`for k in range(K // BLOCK)`) and the same statements behind it with a mask, for what is left, become
/// one loop. Loads get the mask in all iterations where it leaves nothing out of a whole block, else under `k < K // BLOCK`.
/// Whether there was one.
bool last_blocks_roll(Differentiation *state);

#endif
