#include "autodiff/products/rows.h"

#include "analysis/build/build.h"
#include "autodiff/rewrite/algebra.h"

static bool is_spread(const Value *row) {
    return made_by(row, OP_EXPAND_DIMS) || made_by(row, OP_BROADCAST_TO);
}

bool is_row(const Type *tile, const Value *value) {
    const Type *type = &value->type;
    if (type->kind != TYPE_NUMBER || !dtype_is_float(type->element) || value->constant)
        return false;
    if (made_by(value, OP_BROADCAST_TO)) return is_row(tile, value->op->operands[0]);
    if (type->rank < tile->rank) return true;
    for (int i = 0; i < type->rank; i++) {
        int64_t one;
        if (poly_is_constant(type->dims[i], &one) && one == 1 &&
            !poly_equal(type->dims[i], tile->dims[i]))
            return true;
    }
    return false;
}

Value *row_inside(Value *row) {
    while (is_spread(row)) row = row->op->operands[0];
    return row;
}

Value *row_with(Builder *b, const Value *row, Value *inner) {
    if (!is_spread(row)) return inner;
    Value *operands[OPERATION_MOST_OPERANDS];
    for (int i = 1; i < row->op->operand_count; i++) operands[i] = row->op->operands[i];
    operands[0] = row_with(b, row->op->operands[0], inner);
    return build(b, row->op->code, operands, row->op->operand_count);
}

Value *row_as_float(Builder *b, Value *value) {
    DTypeCode code = value->type.element.code;
    bool is_wide = value->constant || value->type.is_constexpr || code == DTYPE_FLOAT32 ||
                   code == DTYPE_FLOAT64 || !dtype_is_float(value->type.element);
    if (is_wide) return value;
    Value *operands[] = {value, build_dtype(b, dtype_of(DTYPE_FLOAT32))};
    return build(b, OP_CAST, operands, 2);
}
