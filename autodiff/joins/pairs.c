// Two accesses of every second element in; one of pairs out.
#include "autodiff/joins/pairs.h"

#include "analysis/addresses/affine.h"
#include "analysis/build/build.h"
#include "analysis/ir/loops.h"

typedef struct Pairing {
    Function *function;
    Former *former;
    LIST(Op *) accesses;  // loads and stores of such tiles, in order
    Op *even, *odd;       // the two: the one with the first elements, and the one with the others
    Op *first, *second;   // in the order of the text
} Pairing;

static Value *operand_at(const Op *op, const char *name) {
    int index = op_parameter_index(op->code, str_from(name));
    Value *value = index >= 0 && index < op->operand_count ? op->operands[index] : NULL;
    return value && value_is_none(value) ? NULL : value;
}

/// Whether the last axis of an access's tile steps by two elements.
static bool has_gaps(Pairing *pairing, const Op *op) {
    Access access = access_by(pairing->former, (Op *)(uintptr_t)op);
    const Type *type = &op->operands[0]->type;
    int64_t step;
    return type->kind == TYPE_POINTER && type->rank > 0 && type->rank < TYPE_MAX_RANK &&
           access.parameter && access.offset.known && !access.offset.wrapped &&
           access.offset.rank == type->rank &&
           poly_is_constant(access.offset.lane[type->rank - 1], &step) && step == 2;
}

static bool visit_access(void *context, Op *op) {
    Pairing *pairing = context;
    bool is_one = op->code == OP_LOAD || op->code == OP_STORE;
    if (is_one && has_gaps(pairing, op))
        LIST_PUSH(pairing->function->arena, &pairing->accesses, op);
    return true;
}

static bool same_constant(const Value *a, const Value *b) {
    double left, right;
    if (!a || !b) return a == b;
    return a == b || (value_is_number(a, &left) && value_is_number(b, &right) && left == right);
}

typedef struct Between {
    const Pairing *pairing;
    const Value *parameter;
    bool is_used;
} Between;

static bool visit_between(void *context, Op *op) {
    Between *between = context;
    if (op_is_access(op))
        between->is_used =
            between->is_used ||
            access_by(between->pairing->former, op).parameter == between->parameter ||
            (op_rows[op->code].effects & EFFECT_ATOMIC);
    between->is_used =
        between->is_used || (op_rows[op->code].effects & EFFECT_ORDERED) || op->region_count;
    return !between->is_used;
}

/// Whether anything between the two may touch the tensor, or has to stay in order.
static bool is_used_between(const Pairing *pairing, const Value *parameter) {
    Between between = {pairing, parameter, false};
    for (Op *op = pairing->first->next; op && op != pairing->second && !between.is_used;
         op = op->next)
        visit_between(&between, op);
    return between.is_used;
}

static bool comes_before(const Value *value, const Op *place) {
    return !value->op || value->op->parent != place->parent || op_comes_before(value->op, place);
}

/// Whether two accesses are the two of a pair.
static bool are_pair(Pairing *pairing, Op *a, Op *b) {
    if (a->code != b->code || a->parent != b->parent) return false;
    Access left = access_by(pairing->former, a), right = access_by(pairing->former, b);
    if (left.parameter != right.parameter || left.mask != right.mask) return false;
    for (int i = 0; i < left.offset.rank; i++)
        if (left.offset.rank != right.offset.rank ||
            !poly_equal(left.offset.lane[i], right.offset.lane[i]))
            return false;
    int64_t distance;
    const Poly *between =
        poly_subtract(pairing->function->arena, right.offset.base, left.offset.base);
    if (!poly_is_constant(between, &distance) || (distance != 1 && distance != -1)) return false;
    pairing->first = a;
    pairing->second = b;
    pairing->even = distance == 1 ? a : b;
    pairing->odd = distance == 1 ? b : a;
    if (!type_equal(a->operands[0]->type, b->operands[0]->type)) return false;
    const Op *place = a->code == OP_LOAD ? a : b;
    bool is_there = comes_before(pairing->even->operands[0], place) &&
                    (!left.mask || comes_before(left.mask, place));
    if (!is_there || is_used_between(pairing, left.parameter)) return false;
    if (a->code == OP_LOAD) return same_constant(operand_at(a, "other"), operand_at(b, "other"));
    return dtype_equal(a->operands[1]->type.element, b->operands[1]->type.element) &&
           a->operands[1]->type.rank == a->operands[0]->type.rank &&
           b->operands[1]->type.rank == b->operands[0]->type.rank;
}

/* ---- a tile of twice as many lanes ---- */

enum { MOST_PARTS = 24 };  // of an address or a mask. Beyond: pairs are an axis of their own

/// What makes, of values of the tile with gaps, those of the one without: `2 * lane` becomes `lane`, of twice as many.
typedef struct Widening {
    Builder *b;
    Former *former;
    int left;  // parts that may still be looked at
} Widening;

/// What a value moves by along its last axis; NULL where that is not known.
static const Poly *last_weight(const Widening *widening, Value *value) {
    Affine form = affine_by(widening->former, value);
    int rank = value->type.rank;
    if (!form.known || form.wrapped || (rank && form.rank != rank)) return NULL;
    return rank ? form.lane[rank - 1] : poly_constant(widening->b->function->arena, 0);
}

static bool weighs(const Poly *weight, int64_t wanted) {
    int64_t number;
    return weight && poly_is_constant(weight, &number) && number == wanted;
}

/// The same for all lanes of the last axis, with one of them, or without that axis; NULL where it has them spelled out.
static Value *without_lanes(Value *value) {
    while (value->op && value->op->code == OP_BROADCAST_TO) value = value->op->operands[0];
    int64_t one;
    int rank = value->type.rank;
    return !rank || (poly_is_constant(value->type.dims[rank - 1], &one) && one == 1) ? value : NULL;
}

static Value *doubled(const Widening *widening, Value *value) {
    return build_binary(widening->b, OP_MUL, build_int(widening->b, 2), value);
}

static bool is_number(const Value *value, int64_t wanted) {
    int64_t number;
    return value_is_int(value, &number) && number == wanted;
}

static Value *widen(Widening *widening, Value *value, bool doubles);

static Value *widen_operands(Widening *widening, const Op *op, bool doubles, int count) {
    Value *operands[2] = {0};
    for (int i = 0; i < count; i++)
        if (!(operands[i] = widen(widening, op->operands[i], doubles))) return NULL;
    return build(widening->b, op->code, operands, count);
}

/// The value for lanes of the wide tile, which has 2 * lane and 2 * lane + 1 for each lane. `doubles`: twice the value, which moves by 1,
/// and 1 more for the second; else the value moves by 2.
static Value *widen(Widening *widening, Value *value, bool doubles) {
    Builder *b = widening->b;
    const Op *op = value->op;
    const Poly *weight = last_weight(widening, value);
    if (widening->left-- <= 0 || !weight) return NULL;
    if (weighs(weight, 0)) {
        Value *one = without_lanes(value);
        return one && doubles ? doubled(widening, one) : one;
    }
    if (!op || !weighs(weight, doubles ? 1 : 2)) return NULL;
    switch (op->code) {
    case OP_ARANGE:
        if (!doubles || !is_number(op->operands[0], 0)) return NULL;
        return build_binary(b, OP_ARANGE, doubled(widening, op->operands[0]),
                            doubled(widening, op->operands[1]));
    case OP_ADD: return widen_operands(widening, op, doubles, 2);
    case OP_SUB:
        return weighs(last_weight(widening, op->operands[1]), 0)
                   ? widen_operands(widening, op, doubles, 2)
                   : NULL;
    case OP_MUL:
        for (int i = 0; i < 2 && !doubles; i++)
            if (is_number(op->operands[i], 2) &&
                weighs(last_weight(widening, op->operands[1 - i]), 1))
                return widen(widening, op->operands[1 - i], true);
        return NULL;
    case OP_BROADCAST_TO: return widen(widening, op->operands[0], doubles);
    case OP_CAST: {
        Value *whole = op_keeps_numbers(op) ? widen(widening, op->operands[0], doubles) : NULL;
        return whole ? build_binary(b, OP_CAST, whole, op->operands[1]) : NULL;
    }
    case OP_EXPAND_DIMS: {
        Value *row = widen(widening, op->operands[0], doubles);
        return row ? build_binary(b, OP_EXPAND_DIMS, row, op->operands[1]) : NULL;
    }
    default: return NULL;
    }
}

/// Whether a condition has lanes of the last axis: else it is the same for the wide tile.
static Value *widen_mask(Widening *widening, Value *mask) {
    Builder *b = widening->b;
    const Op *op = mask->op;
    if (widening->left-- <= 0 || !op) return NULL;
    Value *same = without_lanes(mask);
    if (same) return same;
    switch (op->code) {
    case OP_AND: {
        Value *left = widen_mask(widening, op->operands[0]),
              *right = left ? widen_mask(widening, op->operands[1]) : NULL;
        return right ? build_binary(b, OP_AND, left, right) : NULL;
    }
    case OP_BROADCAST_TO: return widen_mask(widening, op->operands[0]);
    case OP_EXPAND_DIMS: {
        Value *row = widen_mask(widening, op->operands[0]);
        return row ? build_binary(b, OP_EXPAND_DIMS, row, op->operands[1]) : NULL;
    }
    case OP_LT:
    case OP_GE: {  // `2 * lane + 1 < 2 * end` where `lane < end`
        Value *end = without_lanes(op->operands[1]), *lanes = NULL;
        if (end && weighs(last_weight(widening, op->operands[0]), 1))
            lanes = widen(widening, op->operands[0], true);
        return lanes ? build_binary(b, op->code, lanes, doubled(widening, end)) : NULL;
    }
    default: return NULL;
    }
}

/// A pair of accesses as one.
typedef struct PairAccess {
    Value *pointers, *mask;
    Value *shape;  // of the wide tile, if it is one; NULL: pairs are an axis of their own
    Value *halves;
} PairAccess;

/// `pointers[..., None] + tl.arange(0, 2)`
static Value *pair_pointers(Builder *b, Value *pointers) {
    int rank = pointers->type.rank;
    Value *lanes = build_binary(b, OP_ARANGE, build_int(b, 0), build_int(b, 2));
    Value *apart = build_binary(b, OP_EXPAND_DIMS, pointers, build_int(b, rank));
    return build_binary(b, OP_ADD, apart, lanes);
}

static Value *pair_mask(Builder *b, Value *mask, int rank) {
    return mask && mask->type.rank == rank
               ? build_binary(b, OP_EXPAND_DIMS, mask, build_int(b, rank))
               : mask;
}

/// The shape of the wide tile, or of the same in pairs.
static Value *wide_shape(Builder *b, const Type *tile, bool in_pairs) {
    Value *dims[TYPE_MAX_RANK + 1];
    int last = tile->rank - 1;
    for (int i = 0; i < tile->rank; i++)
        if (!(dims[i] = build_poly(b, tile->dims[i]))) return NULL;
    if (in_pairs)
        dims[last + 1] = build_int(b, 2);
    else
        dims[last] = build_binary(b, OP_MUL, build_int(b, 2), dims[last]);
    return build_tuple(b, dims, tile->rank + in_pairs);
}

/// As a tile of twice as many lanes, one after the other in memory; else with an axis for the two of a pair, of which a compiler does not
/// know that they go on in the next pair.
static PairAccess pair_access(const Pairing *pairing, Builder *b, const Op *op) {
    Value *pointers = pairing->even->operands[0], *mask = operand_at(op, "mask");
    Widening widening = {b, pairing->former, MOST_PARTS};
    const Type *tile = &pointers->type;
    PairAccess pair = {.pointers = widen(&widening, pointers, false)};
    pair.mask = pair.pointers && mask ? widen_mask(&widening, mask) : NULL;
    pair.shape = wide_shape(b, tile, false);
    pair.halves = wide_shape(b, tile, true);
    bool is_wide = pair.pointers && pair.shape && pair.halves && (pair.mask || !mask) &&
                   pair.pointers->type.rank == tile->rank;
    if (is_wide) return pair;
    return (PairAccess){.pointers = pair_pointers(b, pointers),
                        .mask = pair_mask(b, mask, tile->rank)};
}

static void pair_loads(const Pairing *pairing) {
    Op *first = pairing->first;
    Builder b = {.function = pairing->function,
                 .region = first->parent,
                 .before = first,
                 .range = first->range};
    PairAccess pair = pair_access(pairing, &b, first);
    Value *operands[] = {pair.pointers, pair.mask, operand_at(first, "other")};
    Value *pairs = build(&b, OP_LOAD, operands, 3);
    if (pair.shape) pairs = build_binary(&b, OP_RESHAPE, pairs, pair.halves);
    Value *halves = build_unary(&b, OP_SPLIT, pairs);
    Op *const both[] = {pairing->even, pairing->odd};
    for (int i = 0; i < 2; i++) {
        Value *half = halves->op->operands[i];
        half->name = both[i]->results[0]->name;
        region_replace_uses(pairing->function->body, both[i]->results[0], half);
        op_remove(both[i]);
    }
}

static void pair_stores(const Pairing *pairing) {
    Op *second = pairing->second;
    Builder b = {.function = pairing->function,
                 .region = second->parent,
                 .before = second,
                 .range = second->range};
    PairAccess pair = pair_access(pairing, &b, second);
    Value *pairs = build_binary(&b, OP_JOIN, pairing->even->operands[1], pairing->odd->operands[1]);
    if (pair.shape) pairs = build_binary(&b, OP_RESHAPE, pairs, pair.shape);
    build(&b, OP_STORE, (Value *[]){pair.pointers, pairs, pair.mask}, 3);
    op_remove(pairing->even);
    op_remove(pairing->odd);
}

void function_pair_accesses(Function *function) {
    Pairing pairing = {.function = function, .former = former_new(function->arena)};
    region_walk(function->body, visit_access, &pairing);
    for (int i = 0; i < pairing.accesses.count; i++) {
        for (int k = i + 1; k < pairing.accesses.count && pairing.accesses.items[i]; k++) {
            Op *a = pairing.accesses.items[i], *b = pairing.accesses.items[k];
            if (!b || !are_pair(&pairing, a, b)) continue;
            a->code == OP_LOAD ? pair_loads(&pairing) : pair_stores(&pairing);
            pairing.accesses.items[i] = pairing.accesses.items[k] = NULL;
        }
    }
}
