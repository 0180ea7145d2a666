// Inside autodiff/: the last algebra before a backward is printed.
#ifndef TAD_AUTODIFF_REWRITE_TIDY_H
#define TAD_AUTODIFF_REWRITE_TIDY_H

#include "analysis/ir/ir.h"

/// Takes signs out of products and sums, makes one constant of several and one mask of masks under masks, and cleans up.
/// Values stay what they are, up to rounding; elements that were masked stay so.
void function_tidy(Function *function);
/// Takes choices with 0 out of products with factors that may be infinite: there the product is 0, too.
void function_choose_late(Function *function);

#endif
