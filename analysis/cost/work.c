#include "analysis/cost/work.h"

#include "analysis/addresses/affine.h"

const Poly *work_elements(Arena *arena, Type type) {
    const Poly *product = poly_constant(arena, 1);
    if (type.kind == TYPE_UNKNOWN || type.kind == TYPE_TUPLE) return NULL;
    for (int i = 0; i < type.rank; i++) {
        if (!type.dims[i]) return NULL;
        product = poly_multiply(arena, product, type.dims[i]);
    }
    return product;
}

static const Value *operand_named(const Op *op, const char *name) {
    int index = op_parameter_index(op->code, str_from(name));
    return index >= 0 && index < op->operand_count ? op->operands[index] : NULL;
}

static bool dim_is_one(const Poly *dim) {
    int64_t number;
    return dim && poly_is_constant(dim, &number) && number == 1;
}

/// `shape` broadcast with a tile.
static Type broadcast(Arena *arena, Type shape, const Value *value) {
    if (!value || value->type.kind != TYPE_NUMBER || value->type.rank == 0) return shape;
    Type other = value->type;
    int rank = shape.rank > other.rank ? shape.rank : other.rank;
    const Poly **dims = ARENA_ARRAY(arena, const Poly *, rank + 1);
    for (int i = 1; i <= rank; i++) {
        const Poly *a = i <= shape.rank ? shape.dims[shape.rank - i] : NULL;
        const Poly *b = i <= other.rank ? other.dims[other.rank - i] : NULL;
        bool takes_b = i > shape.rank || (i <= other.rank && dim_is_one(a));
        dims[rank - i] = takes_b ? b : a;
    }
    shape.rank = rank;
    shape.dims = dims;
    return shape;
}

Type work_access_shape(Arena *arena, const Op *op) {
    Type shape = op->operands[0]->type;
    if (op->code == OP_DESCRIPTOR_GATHER && op->result_count) return op->results[0]->type;
    const Value *value = operand_named(op, "value");
    if (op->code == OP_DESCRIPTOR_SCATTER && value) return value->type;
    if (shape.kind != TYPE_POINTER) return shape;
    bool is_tile = shape.rank > 0;
    shape = broadcast(arena, shape, operand_named(op, "mask"));
    return is_tile ? broadcast(arena, shape, value ? value : operand_named(op, "val")) : shape;
}

static Work work_of_access(Arena *arena, const Op *op) {
    int effects = op_rows[op->code].effects;
    Type shape = work_access_shape(arena, op);
    WorkKind kind = effects & EFFECT_ATOMIC   ? WORK_UPDATE
                    : effects & EFFECT_WRITES ? WORK_WRITE
                                              : WORK_READ;
    return (Work){true, kind, work_elements(arena, shape), shape.element};
}

static Work work_of_dot(Arena *arena, const Op *op) {
    Work work = {true, WORK_DOT, NULL, {0}};
    Type a = op->operands[0]->type, b = op->operands[1]->type;
    const Poly *rows = work_elements(arena, a);
    if (a.rank < 2 || a.rank != b.rank || !rows || !b.dims[b.rank - 1]) return work;
    work.amount = poly_multiply(arena, poly_multiply(arena, rows, b.dims[b.rank - 1]),
                                poly_constant(arena, 2));
    return work;
}

int work_weight(OpCode code) { return code == OP_FMA ? 2 : 1; }

static bool work_is_math(const Op *op) {
    const OpRow *row = &op_rows[op->code];
    Type type = op->result_count == 1 ? op->results[0]->type : (Type){0};
    return row->has_value && op->code != OP_WHERE && !(row->traits & TRAIT_MOVES) &&
           type.kind == TYPE_NUMBER && dtype_is_float(type.element);
}

static bool reduces(OpCode code) { return code == OP_SUM || code == OP_MAX || code == OP_MIN; }

int work_of_combine(const Op *op) {
    int count = 0;
    for (const Op *inner = op->region_count ? op->regions[0]->first : NULL; inner;
         inner = inner->next)
        count += work_is_math(inner) ? work_weight(inner->code) : 0;
    return count;
}

/// A reduction combines each element but one of a line, with a function of the user's.
static Work work_of_reduction(Arena *arena, const Op *op) {
    const Value *from = op->operands[0];
    int count;
    if (value_is_tuple(from, &count) && count) from = from->op->operands[0];
    int weight = work_of_combine(op);
    const Poly *all = work_elements(arena, from->type);
    Type rest = {.kind = TYPE_NUMBER, .element = from->type.element, .rank = from->type.rank};
    const Poly **dims = ARENA_ARRAY(arena, const Poly *, rest.rank + 1);
    const Value *axis = operand_named(op, "axis");
    int64_t at;
    bool along = axis && !value_is_none(axis);
    if (along && !value_is_int(axis, &at)) return (Work){true, WORK_MATH, NULL, {0}};
    if (along && at < 0) at += rest.rank;
    for (int i = 0; i < rest.rank; i++)
        dims[i] = !along || at == i ? poly_constant(arena, 1) : from->type.dims[i];
    rest.dims = dims;
    const Poly *left = work_elements(arena, rest);
    const Poly *steps = all && left ? poly_subtract(arena, all, left) : NULL;
    if (!weight) return (Work){0};
    return (Work){true,
                  WORK_MATH,
                  steps ? poly_multiply(arena, steps, poly_constant(arena, weight)) : NULL,
                  {0}};
}

static Work work_of_arithmetic(Arena *arena, const Op *op) {
    Work none = {0};
    if ((op->code == OP_REDUCE || op->code == OP_ASSOCIATIVE_SCAN) && op->result_count)
        return work_of_reduction(arena, op);
    if (op->result_count != 1 || !op->operand_count || !op->operands[0]) return none;
    Type type = op->results[0]->type;
    if (reduces(op->code)) {
        Type from = op->operands[0]->type;
        const Poly *all = work_elements(arena, from), *left = work_elements(arena, type);
        if (!dtype_is_float(from.element)) return none;
        return (Work){true, WORK_MATH, all && left ? poly_subtract(arena, all, left) : NULL, {0}};
    }
    if (!work_is_math(op) || op->results[0]->constant) return none;
    const Poly *count = work_elements(arena, type);
    if (count) count = poly_multiply(arena, count, poly_constant(arena, work_weight(op->code)));
    return (Work){true, WORK_MATH, count, {0}};
}

Work work_of(Arena *arena, const Op *op) {
    if (op_is_access(op) && op->operand_count && op->operands[0]) return work_of_access(arena, op);
    if (op->code == OP_DOT) return work_of_dot(arena, op);
    return work_of_arithmetic(arena, op);
}
