// Inside autodiff/: in which order the programs of a kernel go through a tensor.
#ifndef TAD_AUTODIFF_BLOCKS_PROGRAM_ORDER_H
#define TAD_AUTODIFF_BLOCKS_PROGRAM_ORDER_H

#include "autodiff/state/result.h"

/// Where programs along a later axis of the grid number the blocks of a row, the ones along the first axis run first: each is in another
/// row. The kernel then numbers its programs anew, so that those that run together have blocks that follow each other in memory. To be
/// called when all else is known of the launch, whose grid stays as it is.
void programs_follow_rows(Function *backward, const BackwardLaunch *launch);

#endif
