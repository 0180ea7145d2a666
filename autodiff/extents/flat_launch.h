// Of a kernel whose tiles number elements one after the other, or whose lanes are a gradient's: what its launch has to know.
#ifndef TAD_AUTODIFF_EXTENTS_FLAT_LAUNCH_H
#define TAD_AUTODIFF_EXTENTS_FLAT_LAUNCH_H

#include "autodiff/state/differentiation.h"

/// What the Function has to know to choose how many programs share the sums.
void flat_describe(const Differentiation *state, BackwardLaunch *launch);

#endif
