// Inside autodiff/: the last algebra before a backward is printed.
#ifndef TAD_AUTODIFF_TIDY_H
#define TAD_AUTODIFF_TIDY_H

#include "analysis/ir.h"

/// Takes signs out of products and sums, makes one constant of several and one mask of masks under masks, and cleans up.
/// Values stay what they are, up to rounding; lanes that were masked stay so.
void function_tidy(Function *function);

#endif
