// Inside autodiff/: several programs of the forward as one, for kernels whose programs have little to do.
#ifndef TAD_AUTODIFF_TOGETHER_SIDE_BY_SIDE_H
#define TAD_AUTODIFF_TOGETHER_SIDE_BY_SIDE_H

#include "autodiff/state/differentiation.h"

/// Where a kernel's programs compute element by element, each with a tile of its own, and do nothing else, its text becomes that of `TOGETHER`
/// programs along one axis of the grid: each number of a program is a tile of them, in front of the axes that it had, and what is behind the
/// last program is masked. The parameters `TOGETHER` and how many programs the forward has along that axis come to the end of function and
/// launch. To be called when all else is known of the launch, and where this is no kernel of a tuner; else the kernel stays as it is.
void programs_side_by_side(Differentiation *state, BackwardLaunch *launch);

#endif
