// An addition of a row in which lanes may be of one element in; out one in which no two lanes are. All pairs of lanes are compared, so it
// is for short rows: scales of the blocks of a quantised matrix, of which neighbouring columns have one.
#include "autodiff/atomics/joined_lanes.h"

#include "analysis/build/build.h"
#include "analysis/build/infer.h"
#include "autodiff/addresses/place.h"

/// Whether an address is a pointer and whole numbers that are added to it. With a builder, `*sum` gets those that differ between lanes.
static bool take_numbers(Builder *b, Value *address, Value **sum) {
    const Op *op = address->op;
    if (!address->type.rank) return true;
    if (!op || op->code != OP_ADD) return false;
    for (int side = 0; side < 2; side++) {
        Value *pointer = op->operands[side], *number = op->operands[1 - side];
        if (pointer->type.kind != TYPE_POINTER || number->type.kind != TYPE_NUMBER) continue;
        if (!take_numbers(b, pointer, sum)) return false;
        if (b && number->type.rank) *sum = *sum ? build_binary(b, OP_ADD, *sum, number) : number;
        return true;
    }
    return false;
}

bool lanes_have_numbers(const Op *addition) {
    Value *address = addition->operands[0], *none = NULL;
    return address->type.rank == 1 && address->type.dims[0] && addition->operand_count > 2 &&
           take_numbers(NULL, address, &none);
}

static Value *as_row(Builder *b, Value *lanes) {
    return build_binary(b, OP_EXPAND_DIMS, lanes, build_int(b, 0));
}

static Value *as_column(Builder *b, Value *lanes) {
    return build_binary(b, OP_EXPAND_DIMS, lanes, build_int(b, 1));
}

void lanes_join(Differentiation *state, Op *addition) {
    Builder b = {.function = state->backward,
                 .region = addition->parent,
                 .before = addition,
                 .range = addition->range};
    Value *number = NULL, *mask = access_mask(addition);
    take_numbers(&b, addition->operands[0], &number);
    Value *zero = build_int(&b, 0), *size = build_poly(&b, addition->operands[0]->type.dims[0]);
    Value *lanes = build_binary(&b, OP_ARANGE, zero, size);
    Value *same = build_binary(&b, OP_EQ, as_column(&b, number), as_row(&b, number));
    if (mask && mask->type.rank) same = build_binary(&b, OP_AND, same, as_row(&b, mask));
    Value *terms =
        build_ternary(&b, OP_WHERE, same, as_row(&b, addition->operands[1]), build_float(&b, 0.0));
    Value *before = build_binary(&b, OP_LT, as_row(&b, lanes), as_column(&b, lanes));
    before = build_binary(&b, OP_CAST, build_binary(&b, OP_AND, same, before),
                          build_dtype(&b, dtype_of(DTYPE_INT32)));
    Value *is_first =
        build_binary(&b, OP_EQ, build_binary(&b, OP_SUM, before, build_int(&b, 1)), zero);
    op_set_operand(addition, 1, build_binary(&b, OP_SUM, terms, build_int(&b, 1)));
    op_set_operand(addition, 2, mask ? build_binary(&b, OP_AND, mask, is_first) : is_first);
}
