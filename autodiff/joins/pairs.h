// Inside autodiff/: neighbours in memory that a kernel loads, or stores, by two statements.
#ifndef TAD_AUTODIFF_JOINS_PAIRS_H
#define TAD_AUTODIFF_JOINS_PAIRS_H

#include "analysis/ir/ir.h"

/// Where two loads, or two stores, of a tile of several axes have every second element along the last axis, and one of them those in between,
/// they become one of pairs, as a tile of twice as many lanes where the address and the mask
/// can be taken for these: threads then go through memory in its order. Both have one mask, and nothing else is done in between with
/// the tensor.
void function_pair_accesses(Function *function);

#endif
