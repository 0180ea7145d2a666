// Two expressions in; out whether they are one, up to a value of each.
#ifndef TAD_AUTODIFF_ADDRESSES_ALIKE_H
#define TAD_AUTODIFF_ADDRESSES_ALIKE_H

#include "analysis/ir/ir.h"

/// Whether `b` is `a` with `of_b` in the place of `of_a` (both may be NULL): the variables of two loops, two tensors. Loads from equal
/// addresses count as equal: the caller knows that nothing is stored between them.
bool expressions_alike(const Value *a, const Value *b, const Value *of_a, const Value *of_b);

/// Pairs of values of two expressions that stand for each other: the variables of two nests of loops.
typedef struct Twins {
    const Value *a[LOOPS_MOST_NESTED], *b[LOOPS_MOST_NESTED];
    int count;
} Twins;

/// As `expressions_alike`, with several such pairs.
bool expressions_are_twins(const Value *a, const Value *b, const Twins *twins);

/// Whether two loops over numbers go through the same ones, each once.
bool loops_have_one_range(const Op *a, const Op *b);

#endif
