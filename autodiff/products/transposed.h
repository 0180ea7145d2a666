// Inside autodiff/: tiles that are used transposed are computed so.
#ifndef TAD_AUTODIFF_PRODUCTS_TRANSPOSED_H
#define TAD_AUTODIFF_PRODUCTS_TRANSPOSED_H

#include "analysis/ir/ir.h"

/// Where a loop computes tiles of products of matrices and uses nothing but their transposes, it computes the transposes: `p = exp2(dot(k,
/// trans(q)) - lse[None, :])` and `dv += dot(p, do)` for `p = exp2(dot(q, trans(k)) - lse[:, None])` and `dv += dot(trans(p), do)`. What
/// is transposed instead is loaded. All products of the loop have rows along one axis then (orient.h says what for).
void function_transpose_tiles(Function *function);

#endif
