// A kernel that computes several gradients in, the same out in which what belongs to one of them alone is left out where nobody asks
// for it: a gradient's pointer is None then, which Triton decides while it compiles.
#ifndef TAD_AUTODIFF_SCHEDULE_WANTED_H
#define TAD_AUTODIFF_SCHEDULE_WANTED_H

#include "autodiff/state/differentiation.h"

/// Puts branches (`if dweight_ptr is not None:`) around the statements of gradients that autograd may leave out, where a kernel has
/// several, and programs add to one of them or it has no products: weights may be frozen, targets may be data. Notes these gradients' parameters in `parts.optional`.
void wanted_guard(Differentiation *state);

#endif
