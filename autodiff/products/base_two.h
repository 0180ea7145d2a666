// Inside autodiff/: exponentials of products of matrices, by the instruction that the hardware has.
#ifndef TAD_AUTODIFF_PRODUCTS_BASE_TWO_H
#define TAD_AUTODIFF_PRODUCTS_BASE_TWO_H

#include "analysis/ir/ir.h"

/// In loops, exp(scale * product - row) is exp2((scale * log2(e)) * product - row * log2(e)): for each element of the tile one fused
/// multiplication and addition in the place of a product, a difference and another product. A choice between that and a constant stands
/// outside of the difference then, so that a lane that is left out is 0 also where its row is no number.
void function_take_base_two(Function *function);

#endif
