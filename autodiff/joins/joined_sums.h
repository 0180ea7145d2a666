// Inside autodiff/: sums of one loop that are made in a loop before it.
#ifndef TAD_AUTODIFF_JOINS_JOINED_SUMS_H
#define TAD_AUTODIFF_JOINS_JOINED_SUMS_H

#include "analysis/ir/ir.h"

/// A loop that only adds up numbers, over a range that an earlier loop goes through and of elements that this one loads, becomes part
/// of that. What is known only behind the earlier loop may be a factor of the elements: the sum is multiplied with it afterwards,
/// sum(factor * x) = factor * sum(x). Where the loops have no iteration, nobody reads such a sum.
void function_join_sums(Function *function);

#endif
