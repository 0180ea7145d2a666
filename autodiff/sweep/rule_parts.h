// Inside autodiff/: what the rules of single ops are written with.
#ifndef TAD_AUTODIFF_SWEEP_RULE_PARTS_H
#define TAD_AUTODIFF_SWEEP_RULE_PARTS_H

#include "analysis/build/build.h"
#include "analysis/build/infer.h"
#include "autodiff/state/differentiation.h"

/// An operand that is there and not None, or NULL.
static inline Value *operand(const Op *op, int index) {
    return index < op->operand_count && op->operands[index] && !value_is_none(op->operands[index])
               ? op->operands[index]
               : NULL;
}

static inline Value *recomputed_operand(const Differentiation *state, const Op *op, int index) {
    Value *value = operand(op, index);
    return value ? recomputed(state, value) : NULL;
}

/// The primal value's type with its dims in terms of the backward's values.
static inline Type type_here(const Differentiation *state, const Value *primal) {
    return type_mapped(state->arena, primal->type, &state->values);
}

/// Sets `*result` to a constant axis counted from 0, `missing` where there is none. False where it is not known.
static inline bool constant_axis(const Value *axis, int rank, int missing, int *result) {
    int64_t number;
    if (!axis || value_is_none(axis)) {
        *result = missing;
        return true;
    }
    if (!value_is_int(axis, &number)) return false;
    *result = (int)(number < 0 ? number + rank : number);
    return *result >= 0 && *result < rank;
}

static inline Value *expand_reduced(Builder *b, Value *value, const Value *axis, bool keeps) {
    if (keeps || !axis || value_is_none(axis)) return value;
    return build_binary(b, OP_EXPAND_DIMS, value, (Value *)(uintptr_t)axis);
}

/// `first`, `first + 1`, `first + 2`... along `axis`, of the rank of `type`; from 0 on where `first` is NULL.
static inline Value *lane_numbers(Builder *b, Type type, int axis, Value *first) {
    Value *lanes = build_binary(b, OP_ARANGE, build_int(b, 0), build_poly(b, type.dims[axis]));
    if (first) lanes = build_binary(b, OP_ADD, first, lanes);
    for (int i = 0; i < type.rank; i++)
        if (i != axis) lanes = build_binary(b, OP_EXPAND_DIMS, lanes, build_int(b, i));
    return lanes;
}

#endif
