// Inside autodiff/: gradients of a tensor of which several programs, or lanes, that follow each other read one element.
#ifndef TAD_AUTODIFF_GATHERS_REPEATS_H
#define TAD_AUTODIFF_GATHERS_REPEATS_H

#include "autodiff/atomics/taps.h"

/// Makes one statement of one whose address has quotients of programs' numbers, or of lanes', by small constants of the compiler's:
/// `x[oh // S, ow // S]`. The program and the lane that an element's own numbers are add what each of its readers would have added, and
/// compute that again: `dx[h, w] = sum over a, b of dy[h * S + a, w * S + b]`. The statement that it replaces is still there. NULL where it
/// cannot be made, or would not be private.
Op *repeats_gather(Differentiation *state, const Accumulation *statement, TapsCheck *is_private);

#endif
