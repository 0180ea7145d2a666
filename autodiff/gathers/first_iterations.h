// Inside autodiff/: the first iteration of a loop, done in front of it, as one of its iterations.
#ifndef TAD_AUTODIFF_GATHERS_FIRST_ITERATIONS_H
#define TAD_AUTODIFF_GATHERS_FIRST_ITERATIONS_H

#include "analysis/ir/ir.h"

/// `best = tl.load(p)` and `for k in range(1, K): best = tl.maximum(best, tl.load(p + k))` become one loop from 0 on that begins with -inf; so it is
/// with minima, and with sums, which begin with 0. Each number that the loop carries has to be one of these, and what it begins with has to be
/// what the iteration before the first would take. Whether there was such a loop.
bool first_iterations_roll(Function *function);

#endif
