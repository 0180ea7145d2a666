// Inside autodiff/: remainders of tiles whose quotients a kernel computes as well.
#ifndef TAD_AUTODIFF_GATHERS_REMAINDERS_H
#define TAD_AUTODIFF_GATHERS_REMAINDERS_H

#include "analysis/ir/ir.h"

/// Where a kernel divides a tile of numbers, and takes the remainder besides, the remainder becomes what the quotient leaves: `x % n` is
/// `x - x // n * n`. A GPU divides by a number that it does not know in some twenty steps, and takes as many for the remainder.
/// Analyses of digits do not know such a remainder: it is the last thing done to a kernel.
void remainders_from_quotients(Function *function);

#endif
