// Inside autodiff/: kernels whose loops of products load tiles by descriptors.
#ifndef TAD_AUTODIFF_TOGETHER_DESCRIBED_TILES_H
#define TAD_AUTODIFF_TOGETHER_DESCRIBED_TILES_H

#include "autodiff/state/differentiation.h"

/// Where owners go through a loop of several products, the tiles that it loads come by descriptors if the launch says so: `DESCRIBED`, a
/// constexpr parameter at the end of function and launch. There the addresses of a tile take no registers (docs/gpu.md). To be called
/// when all else of the function is settled.
void tiles_take_descriptors(Differentiation *state, BackwardLaunch *launch);

#endif
