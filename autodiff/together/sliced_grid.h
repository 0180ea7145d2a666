// Inside autodiff/: a grid without the programs that have nothing to do.
#ifndef TAD_AUTODIFF_TOGETHER_SLICED_GRID_H
#define TAD_AUTODIFF_TOGETHER_SLICED_GRID_H

#include "autodiff/state/differentiation.h"

/// Where a kernel does all its work in as many of its programs as share a sum (ARGUMENT_SLICES), the launch has only these: `sliced` of the
/// launch says along which axes, and the kernel takes how many programs the forward has along them from the launch. On the forward's own grid
/// it does the same. An idle program costs some half a nanosecond (docs/differentiation.md), of which forwards with short rows have hundreds of thousands.
void grid_take_slices(Differentiation *state, BackwardLaunch *launch);
/// The branch of such a kernel, `if program < slices:`, where all is done; NULL: it has none.
Op *sliced_branch(const Function *backward, const Value *most_slices);

#endif
