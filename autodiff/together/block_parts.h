// Inside autodiff/: blocks of the forward that an iteration of an emitted kernel goes through in parts.
#ifndef TAD_AUTODIFF_TOGETHER_BLOCK_PARTS_H
#define TAD_AUTODIFF_TOGETHER_BLOCK_PARTS_H

#include "autodiff/state/differentiation.h"

/// Where loops of several products add up along blocks whose size the launch does not choose (loop_parts.h), an iteration becomes that of a
/// part of such a block. How many these are is a parameter, `PARTS`, which comes to the end of function and launch; the launch says of which
/// block they are. To be called when the launch's blocks are known; else the kernel stays as it is.
void blocks_take_parts(Differentiation *state, BackwardLaunch *launch);

#endif
