// Inside autodiff/: several iterations of a loop over programs as one.
#ifndef TAD_AUTODIFF_TOGETHER_ITERATIONS_H
#define TAD_AUTODIFF_TOGETHER_ITERATIONS_H

#include "autodiff/state/differentiation.h"

/// Where the programs of a sliced grid (sliced_grid.h) run a loop over those of the forward, each with a short row, an iteration becomes that
/// of `TOGETHER` of them: what they load is a tile of rows, and what the loop adds up has a row for each until its end. To be called behind
/// grid_take_slices, and where this is no kernel of a tuner; else the kernel stays as it is.
void iterations_side_by_side(Differentiation *state, BackwardLaunch *launch);

#endif
