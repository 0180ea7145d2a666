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
    return type->kind == TYPE_POINTER && type->rank > 1 && type->rank < TYPE_MAX_RANK &&
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

static void pair_loads(const Pairing *pairing) {
    Op *first = pairing->first;
    Builder b = {.function = pairing->function,
                 .region = first->parent,
                 .before = first,
                 .range = first->range};
    int rank = first->operands[0]->type.rank;
    Value *operands[] = {pair_pointers(&b, pairing->even->operands[0]),
                         pair_mask(&b, operand_at(first, "mask"), rank),
                         operand_at(first, "other")};
    Value *pairs = build(&b, OP_LOAD, operands, 3);
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
    int rank = second->operands[0]->type.rank;
    Value *pointers = pair_pointers(&b, pairing->even->operands[0]);
    Value *pairs = build_binary(&b, OP_JOIN, pairing->even->operands[1], pairing->odd->operands[1]);
    build(&b, OP_STORE,
          (Value *[]){pointers, pairs, pair_mask(&b, operand_at(second, "mask"), rank)}, 3);
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
