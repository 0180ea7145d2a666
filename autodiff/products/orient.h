// Inside autodiff/: sums of products are kept the way they are stored.
#ifndef TAD_AUTODIFF_PRODUCTS_ORIENT_H
#define TAD_AUTODIFF_PRODUCTS_ORIENT_H

#include "analysis/ir/ir.h"

/// Where a loop sums products of matrices, and its tile is stored with the elements that follow each other in memory along the first axis,
/// the loop sums the transposes instead, and the store transposes once: `dk += dot(trans(ds), q)` for `dk += dot(trans(q), ds)`. Where
/// launches say how the tile lies, the sum goes by the others of its loop. So all of them have their rows along one axis, as in kernels
/// written by hand. With rows along two, some products are too small for Hopper's `wgmma` and some are not; the assembler of CUDA 12.8 has
/// given wrong results for such a mixture (docs/gpu.md).
void function_orient_sums(Function *function);

#endif
