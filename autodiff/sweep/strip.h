// What the forward does to memory, taken out of its backward.
#ifndef TAD_AUTODIFF_SWEEP_STRIP_H
#define TAD_AUTODIFF_SWEEP_STRIP_H

#include "autodiff/state/differentiation.h"

/// The backward's own statements on memory: accumulations, steps on running gradients, tapes. A set of ops.
Map statements_own(const Differentiation *state);
/// Removes the stores, atomics and ordered ops that the backward repeats of the forward, but for its own and those that a replay
/// keeps. What read an atomic's result reads an OP_UNKNOWN. Then drops what nobody needs.
void strip_forward(Differentiation *state);
/// Refuses the backward where it still needs what was not understood, or what an atomic gave.
void strip_refuse_unknown(Differentiation *state);

#endif
