// Inside autodiff/schedule/finiteness*.c: what the walk over a backward, its slots and its rules share.
#ifndef TAD_AUTODIFF_FINITENESS_FINITENESS_PARTS_H
#define TAD_AUTODIFF_FINITENESS_FINITENESS_PARTS_H

#include "autodiff/finiteness/finiteness.h"

typedef struct Facts {
    Fact slots[MASK_MOST_SLOTS];
    bool is_known;
} Facts;

struct Finiteness {
    const Differentiation *state;
    Arena *arena;
    Conditions conditions;
    Map adjoints;
    const Condition *condition;  // under assumption
    Facts *facts;                // by the values' ids
    int fact_count;
};

/// Whether an op moves elements so that each axis of its result is one of its operand, or a new one.
bool op_moves_axes(const Op *op);
bool op_is_reduction(OpCode code);
bool op_is_scan(OpCode code);

bool value_is_float(const Value *value);
bool value_is_truth(const Value *value);
/// What the elements in `slot` of an op's result hold, by its operands' facts.
Fact fact_of_op(const Finiteness *finiteness, const Op *op, Slot slot);
/// `fact` where a comparison with a number holds, or where it fails. Empty (low > high) where that cannot be.
Fact fact_of_test(OpCode code, bool holds, double bound, Fact fact);
/// The `x` of a sum that a loop scales down as its maximum rises, `l = l * exp(m - new) + sum(exp(x - new))`: that is at least
/// 1 where an element of `x` is finite. NULL of other carried values.
const Value *running_norm_of(const Op *loop, int index);

#endif
