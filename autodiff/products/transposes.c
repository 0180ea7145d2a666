#include "autodiff/products/transposes.h"

#include "analysis/build/build.h"
#include "autodiff/rewrite/algebra.h"

Type type_transposed(Arena *arena, Type type) {
    const Poly **dims = ARENA_ARRAY(arena, const Poly *, 2);
    dims[0] = type.dims[1];
    dims[1] = type.dims[0];
    type.dims = dims;
    return type;
}

Value *tile_transposed(Builder *b, Value *tile) {
    bool is_transpose = made_by(tile, OP_TRANS) && tile->op->operands[0]->type.rank == 2;
    return is_transpose ? tile->op->operands[0] : build_unary(b, OP_TRANS, tile);
}

bool op_is_bare_dot(const Op *op) {
    bool adds = op->operand_count > 2 && op->operands[2] && !value_is_none(op->operands[2]);
    return op->code == OP_DOT && !adds && op->results[0]->type.rank == 2;
}

Value *dot_transposed(Builder *b, const Op *dot) {
    Value **operands = ARENA_ARRAY(b->function->arena, Value *, dot->operand_count);
    for (int i = 2; i < dot->operand_count; i++) operands[i] = dot->operands[i];
    operands[0] = tile_transposed(b, dot->operands[1]);
    operands[1] = tile_transposed(b, dot->operands[0]);
    return build(b, OP_DOT, operands, dot->operand_count);
}
