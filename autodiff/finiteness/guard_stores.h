// Inside autodiff/: elements whose gradient is 0 are left to the programs that they belong to.
#ifndef TAD_AUTODIFF_FINITENESS_GUARD_STORES_H
#define TAD_AUTODIFF_FINITENESS_GUARD_STORES_H

#include "autodiff/state/differentiation.h"

/// Takes the elements that a condition leaves out, and whose gradient is 0 for that, out of each plain store to a gradient. The
/// buffers of gradients start as zeros.
void guard_stores(Differentiation *state);

#endif
