// Inside autodiff/: what simplify.c and tidy.c ask about values.
#ifndef TAD_AUTODIFF_REWRITE_ALGEBRA_H
#define TAD_AUTODIFF_REWRITE_ALGEBRA_H

#include "analysis/ir/ir.h"

/// Whether a value is this number, in every lane.
static inline bool is_number(const Value *value, double wanted) {
    double number;
    if (!value) return false;
    if (value->op && value->op->code == OP_FULL) value = value->op->operands[1];
    if (value->op && (value->op->code == OP_CAST || value->op->code == OP_BROADCAST_TO))
        value = value->op->operands[0];
    return value_is_number(value, &number) && number == wanted;
}

static inline bool same_shape(Type a, Type b) {
    if (a.rank != b.rank) return false;
    for (int i = 0; i < a.rank; i++)
        if (!poly_equal(a.dims[i], b.dims[i])) return false;
    return true;
}

static inline bool same_type(const Value *a, const Value *b) {
    return a->type.kind == b->type.kind && same_shape(a->type, b->type) &&
           (dtype_equal(a->type.element, b->type.element) || a->type.element.code == DTYPE_UNKNOWN);
}

static inline bool made_by(const Value *value, OpCode code) {
    return value && value->op && value->op->code == code;
}

#endif
