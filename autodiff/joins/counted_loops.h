// Inside autodiff/: a `while` that counts, as a loop over a range.
#ifndef TAD_AUTODIFF_JOINS_COUNTED_LOOPS_H
#define TAD_AUTODIFF_JOINS_COUNTED_LOOPS_H

#include "analysis/ir/ir.h"

/// `while k < n: ...; k += STEP` becomes `for k in range(k, n, STEP)`, where nothing else changes `k`, or `n`. The iterations and their
/// order stay.
void function_count_loops(Function *function);

#endif
