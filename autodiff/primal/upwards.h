// Inside autodiff/: loops that count down, as loops that count up.
#ifndef TAD_AUTODIFF_PRIMAL_UPWARDS_H
#define TAD_AUTODIFF_PRIMAL_UPWARDS_H

#include "analysis/ir/ir.h"

/// `for k in range(K, 0, -BLOCK)` that moves pointers or offsets along counts what is done: `for done in range(0, K, BLOCK)`,
/// with `k = K - done` in it. The iterations and their order stay.
void function_count_upwards(Function *function);

#endif
