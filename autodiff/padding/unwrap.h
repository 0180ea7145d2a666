// Inside autodiff/: additions to gradients through addresses that wrap around (`offsets % n`).
#ifndef TAD_AUTODIFF_PADDING_UNWRAP_H
#define TAD_AUTODIFF_PADDING_UNWRAP_H

#include "autodiff/state/differentiation.h"

/// Where all elements that wrap around add 0, because the forward's store leaves them out, they are masked and the rest is
/// addressed directly.
void accumulations_unwrap(Differentiation *state);

#endif
