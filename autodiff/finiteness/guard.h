// Inside autodiff/: lanes beyond the masks, which may hold infinities, are kept out of sums.
#ifndef TAD_AUTODIFF_FINITENESS_GUARD_H
#define TAD_AUTODIFF_FINITENESS_GUARD_H

#include "autodiff/state/differentiation.h"

/// Masks each adjoint that is meant to be 0, may be NaN, and is summed up, added to others or stored: where a condition leaves
/// elements out, the upstream gradient is 0, and 0 times an infinity is not.
void guard_padding(Differentiation *state);
/// Takes away each `where(condition, x, 0)` whose `x` is 0 already where the condition fails.
void guard_drop_needless(Differentiation *state);

#endif
