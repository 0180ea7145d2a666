// The number goes down to the sum of a product of matrices and a row, or into a row that is a factor itself.
#include "autodiff/products/scales.h"

#include "analysis/build/build.h"
#include "autodiff/products/rows.h"
#include "autodiff/rewrite/algebra.h"
#include "autodiff/rewrite/rewrite.h"

enum { MOST_FACTORS = 8 };

/// One number on its way.
typedef struct Scale {
    Builder builder;
    const Map *readers;
    Value *number;
} Scale;

static Value *scaled_row(Scale *scale, Value *row) {
    Builder *b = &scale->builder;
    Value *inner = row_as_float(b, row_inside(row));
    return row_with(b, row, build_binary(b, OP_MUL, inner, scale->number));
}

/// The sum of a product of matrices and a row, either first; or NULL.
static Value *scaled_sum(Scale *scale, const Op *op) {
    Builder *b = &scale->builder;
    for (int i = 0; i < 2; i++) {
        Value *product = op->operands[i], *row = op->operands[1 - i];
        bool fuses = made_by(product, OP_DOT) && is_row(&op->results[0]->type, row) &&
                     value_readers(scale->readers, product)->count == 1;
        if (!fuses) continue;
        Value *sides[2];
        sides[i] = build_binary(b, OP_MUL, product, scale->number);
        sides[1 - i] = scaled_row(scale, row);
        return build_binary(b, op->code, sides[0], sides[1]);
    }
    return NULL;
}

/// value * number, or NULL where that would cost a multiplication of its own.
static Value *scaled(Scale *scale, const Value *value, int depth) {
    Builder *b = &scale->builder;
    const Op *op = value->op;
    Value *result = NULL;
    if (depth == 0 || !op || value_readers(scale->readers, value)->count != 1) return NULL;
    switch (op->code) {
    case OP_ADD:
    case OP_SUB: result = scaled_sum(scale, op); break;
    case OP_MUL:
        for (int i = 0; i < 2 && !result; i++) {
            Value *factor = scaled(scale, op->operands[i], depth - 1);
            if (!factor) continue;
            result = i ? build_binary(b, OP_MUL, op->operands[0], factor)
                       : build_binary(b, OP_MUL, factor, op->operands[1]);
        }
        break;
    case OP_NEG:
        result = scaled(scale, op->operands[0], depth - 1);
        if (result) result = build_unary(b, OP_NEG, result);
        break;
    case OP_WHERE:
        if (!is_number(op->operands[2], 0)) return NULL;
        result = scaled(scale, op->operands[1], depth - 1);
        if (result) result = build_ternary(b, OP_WHERE, op->operands[0], result, op->operands[2]);
        break;
    default: break;
    }
    if (result && !result->name) result->name = value->name;
    return result;
}

typedef struct ScaledTiles {
    Arena *arena;
    OpList ops;
} ScaledTiles;

static bool visit(void *context, Op *op) {
    ScaledTiles *search = context;
    bool is_scaled = op->code == OP_MUL && op->results[0]->type.kind == TYPE_NUMBER &&
                     op->results[0]->type.rank > 1 &&
                     op->results[0]->type.element.code == DTYPE_FLOAT32;
    if (is_scaled && op_is_in_loop(op)) LIST_PUSH(search->arena, &search->ops, op);
    return true;
}

/// Which operand of a product is a number; -1: none.
static int number_of(const Op *op) {
    for (int i = 1; i >= 0; i--) {
        const Type *type = &op->operands[i]->type;
        if (type->kind == TYPE_NUMBER && type->rank == 0) return i;
    }
    return -1;
}

static void fuse(Function *function, Op *op) {
    int place = number_of(op);
    if (place < 0) return;
    Map readers = function_readers(function->arena, function);
    Scale scale = {.builder = {.function = function,
                               .region = op->parent,
                               .before = op,
                               .range = op->range,
                               .call = op->call},
                   .readers = &readers,
                   .number = op->operands[place]};
    const Value *tile = op->operands[1 - place];
    while (made_by(tile, OP_MUL) && value_readers(&readers, tile)->count == 1) {
        place = number_of(tile->op);
        if (place < 0) break;
        scale.number =
            build_binary(&scale.builder, OP_MUL, tile->op->operands[place], scale.number);
        tile = tile->op->operands[1 - place];
    }
    Value *result = scaled(&scale, tile, MOST_FACTORS);
    if (!result || !same_type(result, op->results[0])) return;
    region_replace_uses(function->body, op->results[0], result);
}

void function_fuse_scales(Function *function) {
    ScaledTiles search = {.arena = function->arena};
    region_walk(function->body, visit, &search);
    for (int i = search.ops.count; i-- > 0;) fuse(function, search.ops.items[i]);  // outer first
    if (search.ops.count > 0) function_clean(function);
}
