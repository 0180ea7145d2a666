// Inside autodiff/: lanes beyond the masks, which may hold infinities, are kept out of sums.
#ifndef TAD_AUTODIFF_GUARD_H
#define TAD_AUTODIFF_GUARD_H

#include "autodiff/adjoint.h"

/// Masks what a sum or a product of the backward adds up along an axis, where lanes that the forward leaves out may hold
/// infinities or no numbers: there the upstream gradient is 0, and 0 times these is not.
void guard_padding(Differentiation *state);

#endif
