// Run-time parameters that a kernel takes apart.
#include "analysis/parameters/tuples.h"

#include "analysis/ir/type.h"

typedef struct TupleUses {
    const Roles *roles;
    const ParameterKnowledge *knowledge;
    int *lengths;    // by parameter: what the places that are read need; 0: none is
    bool *is_other;  // used otherwise, or its items are no whole numbers
} TupleUses;

static int parameter_index(const Value *value) {
    return value && !value->op && value->region && !value->region->parent ? value->index : -1;
}

/// `parameter[number]`, as the lowering leaves it before or after it knows a tuple; the number, or -1.
static int64_t item_place(const Op *op) {
    int64_t place;
    bool is_item = (op->code == OP_UNKNOWN || op->code == OP_ITEM) && op->operand_count == 2;
    return is_item && value_is_int(op->operands[1], &place) && place < TYPE_MAX_RANK ? place : -1;
}

/// Whose bits or element type are asked for is no whole number, but a pointer.
static bool asks_for_bits(const Op *op) {
    return op->code == OP_BITCAST || op->code == OP_DTYPE_OF || op->code == OP_ELEMENT_TYPE_OF;
}

static bool visit_tuple_use(void *context, Op *op) {
    TupleUses *uses = context;
    const Op *item = op->operand_count && op->operands[0] ? op->operands[0]->op : NULL;
    int tuple = item && item_place(item) >= 0 ? parameter_index(item->operands[0]) : -1;
    if (tuple >= 0 && tuple < uses->knowledge->count && asks_for_bits(op))
        uses->is_other[tuple] = true;
    for (int i = 0; i < op->operand_count; i++) {
        int parameter = parameter_index(op->operands[i]);
        if (parameter < 0 || parameter >= uses->knowledge->count) continue;
        int64_t place = i == 0 ? item_place(op) : -1;
        int role = place >= 0 ? role_of(uses->roles, op->results[0]) : 0;
        if (place >= uses->lengths[parameter]) uses->lengths[parameter] = (int)place + 1;
        if (place < 0 || role & (ROLE_POINTER | ROLE_REAL | ROLE_DTYPE | ROLE_STRING))
            uses->is_other[parameter] = true;
    }
    return true;
}

bool tuples_learn(Arena *arena, Function *function, const Roles *roles, const bool *is_fixed,
                  ParameterKnowledge *knowledge) {
    TupleUses uses = {.roles = roles,
                      .knowledge = knowledge,
                      .lengths = ARENA_ARRAY(arena, int, knowledge->count + 1),
                      .is_other = ARENA_ARRAY(arena, bool, knowledge->count + 1)};
    region_walk(function->body, visit_tuple_use, &uses);
    bool learnt = false;
    for (int i = 0; i < knowledge->count; i++) {
        Type *type = &knowledge->types[i];
        bool is_tuple = type->kind == TYPE_TUPLE;
        if (is_fixed[i] || function->parameters[i].is_constexpr || knowledge->is_no_tuple[i] ||
            (!is_tuple && type->kind != TYPE_UNKNOWN) || uses.lengths[i] == 0)
            continue;
        if (is_tuple == !uses.is_other[i] && (!is_tuple || type->rank >= uses.lengths[i])) continue;
        knowledge->is_no_tuple[i] = uses.is_other[i];
        *type = (Type){0};
        if (!uses.is_other[i])
            *type = (Type){.kind = TYPE_TUPLE,
                           .rank = uses.lengths[i],
                           .dims = ARENA_ARRAY(arena, const Poly *, uses.lengths[i])};
        learnt = true;
    }
    return learnt;
}
