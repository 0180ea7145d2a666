// Inside autodiff/: sums that a loop takes of a tile in each iteration, and adds up.
#ifndef TAD_AUTODIFF_JOINS_LATE_SUMS_H
#define TAD_AUTODIFF_JOINS_LATE_SUMS_H

#include "analysis/ir/ir.h"

/// Where a loop adds up sums of tiles, it adds up the tiles, and their sum is taken once behind it: threads need not meet in each iteration.
/// Not in functions with products of matrices, which need the registers. At most four of a loop, for the same reason.
void function_sum_late(Function *function);

#endif
