// Inside autodiff/: loops that carry the logarithm of a sum, as loops that carry the sum.
#ifndef TAD_AUTODIFF_PRODUCTS_LOG_SUMS_H
#define TAD_AUTODIFF_PRODUCTS_LOG_SUMS_H

#include "analysis/ir/ir.h"

/// `x = top + log(exp(x - top) + s)`, from minus infinity, beside a state `m = top`: the loop carries `l = exp(x - m)`, which is
/// `l * exp(m - top) + s` in the next iteration, and x is `m + log(l)`. So it is with base 2. True where something changed.
bool function_carry_sums(Function *function);

#endif
