// Which block sizes of an emitted kernel are its own to choose: the kernel computes the same for others, on a grid that covers the same.
#ifndef TAD_AUTODIFF_BLOCKS_FREE_BLOCKS_H
#define TAD_AUTODIFF_BLOCKS_FREE_BLOCKS_H

#include "autodiff/state/result.h"

/// Fills `blocks` and `axes` of the launch, whose arguments are in the order of the parameters of `backward`. In `arena`.
void blocks_describe(Arena *arena, Function *backward, BackwardLaunch *launch);

#endif
