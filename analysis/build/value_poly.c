// Integer scalars as polynomials over what cannot be taken apart: parameters, program ids, loaded values, quotients.
#include "analysis/build/value_poly.h"

#include "analysis/build/infer.h"

/// Bounds the walk over shared subexpressions; beyond it a value stands for itself.
enum { POLY_VISITS = 512, POLY_DEPTH = 64 };

typedef struct PolyWalk {
    Arena *arena;
    int visits;
} PolyWalk;

static const Poly *walk_value(PolyWalk *walk, Value *value, int depth);

static bool value_is_integer(const Value *value) {
    return value && value->type.kind == TYPE_NUMBER && value->type.rank == 0 &&
           !dtype_is_float(value->type.element);
}

/// The exact quotient, where there is one.
static const Poly *walk_quotient(PolyWalk *walk, const Op *op, int depth) {
    const Poly *a = walk_value(walk, op->operands[0], depth);
    const Poly *b = walk_value(walk, op->operands[1], depth);
    return poly_divide_exact(walk->arena, a, b);
}

/// NULL where the op is opaque.
static const Poly *walk_op(PolyWalk *walk, const Op *op, int depth) {
    for (int i = 0; i < op->operand_count && i < 2; i++)
        if (op->operands[i] && op->code != OP_CAST && op->code != OP_MULTIPLE_OF &&
            op->code != OP_MAX_CONTIGUOUS && !value_is_integer(op->operands[i]))
            return NULL;
    switch (op->code) {
    case OP_ADD:
        return poly_add(walk->arena, walk_value(walk, op->operands[0], depth),
                        walk_value(walk, op->operands[1], depth));
    case OP_SUB:
        return poly_subtract(walk->arena, walk_value(walk, op->operands[0], depth),
                             walk_value(walk, op->operands[1], depth));
    case OP_MUL:
        return poly_multiply(walk->arena, walk_value(walk, op->operands[0], depth),
                             walk_value(walk, op->operands[1], depth));
    case OP_NEG:
        return poly_subtract(walk->arena, poly_constant(walk->arena, 0),
                             walk_value(walk, op->operands[0], depth));
    case OP_FLOORDIV: return walk_quotient(walk, op, depth);
    case OP_CAST:
    case OP_MULTIPLE_OF:
    case OP_MAX_CONTIGUOUS:
        if (!value_is_integer(op->operands[0]) || !dtype_is_integer(op->results[0]->type.element))
            return NULL;
        return walk_value(walk, op->operands[0], depth);
    default: return NULL;
    }
}

static const Poly *walk_value(PolyWalk *walk, Value *value, int depth) {
    int64_t integer;
    if (value_is_int(value, &integer)) return poly_constant(walk->arena, integer);
    const Poly *poly = NULL;
    if (value->op && depth < POLY_DEPTH && walk->visits++ < POLY_VISITS)
        poly = walk_op(walk, value->op, depth + 1);
    return poly ? poly : poly_atom(walk->arena, value);
}

const Poly *value_poly(Arena *arena, Value *value) {
    PolyWalk walk = {.arena = arena};
    return walk_value(&walk, value, 0);
}
