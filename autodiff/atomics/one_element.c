// Atomic additions in; the same, with one addition for a whole tile where all of its lanes are of one element.
#include "autodiff/atomics/one_element.h"

#include "analysis/build/build.h"
#include "analysis/ir/walk.h"
#include "autodiff/addresses/place.h"
#include "autodiff/rewrite/rewrite.h"

/// What an index is made of, by operands alone.
typedef struct IndexParts {
    Map seen;
    bool divides, loads;
} IndexParts;

static void find_parts(IndexParts *parts, const Value *value) {
    if (!value || !value->op || map_has_pointer(&parts->seen, value)) return;
    map_set_pointer(&parts->seen, value, parts);
    const Op *op = value->op;
    parts->loads = parts->loads || op->code == OP_LOAD || op->region_count;
    parts->divides = parts->divides ||
                     (op->code == OP_FLOORDIV && op->operands[0]->type.rank && value->type.rank);
    for (int i = 0; i < op->operand_count; i++) find_parts(parts, op->operands[i]);
}

/// The index of an addition to a scalar pointer plus a tile of indices that runs of lanes share; else NULL.
static Value *shared_index(Arena *arena, Op *op) {
    const Op *address = op->operands[0]->op;
    Value *value = op->operands[1], *mask = access_mask(op);
    if (op->code != OP_ATOMIC_ADD || !address || address->code != OP_ADD) return NULL;
    Value *index = address->operands[1];
    int rank = op->operands[0]->type.rank;
    bool is_tile = rank && address->operands[0]->type.rank == 0 && index->type.rank == rank &&
                   value->type.rank == rank && (!mask || mask->type.rank == rank);
    if (!is_tile || lanes_are_apart(arena, op)) return NULL;
    IndexParts parts = {.seen = map_new(arena)};
    find_parts(&parts, index);
    return parts.divides && !parts.loads ? index : NULL;
}

/// Whether all lanes of a mask are there.
static Value *build_all(Builder *b, Value *mask) {
    Value *number = build_binary(b, OP_CAST, mask, build_dtype(b, dtype_of(DTYPE_INT32)));
    return build_binary(b, OP_GT, build_unary(b, OP_MIN, number), build_int(b, 0));
}

static void ask(Function *function, Op *op, Value *index) {
    Builder b = {.function = function, .region = op->parent, .before = op, .range = op->range};
    Value *mask = access_mask(op), *pointer = op->operands[0]->op->operands[0];
    Value *element = build_unary(&b, OP_MIN, index);
    Value *is_one = build_binary(&b, OP_EQ, element, build_unary(&b, OP_MAX, index));
    if (mask) is_one = build_binary(&b, OP_AND, is_one, build_all(&b, mask));
    element->name = "element";
    is_one->name = "is_one_element";
    Op *branch = op_append(&b, OP_IF, &is_one, 1, 0);
    branch->range = op->range;
    Builder one = {.function = function, .region = op_add_region(&b, branch), .range = op->range};
    Value *sum = build_unary(&one, OP_SUM, op->operands[1]);
    build(&one, OP_ATOMIC_ADD, (Value *[]){build_binary(&one, OP_ADD, pointer, element), sum, NULL},
          3);
    op_append(&one, OP_YIELD, NULL, 0, 0);
    Builder each = {.function = function, .region = op_add_region(&b, branch), .range = op->range};
    op_move_before(op, op_append(&each, OP_YIELD, NULL, 0, 0));
}

typedef struct AdditionSearch {
    Arena *arena;
    LIST(Op *) found;
} AdditionSearch;

static bool visit(void *context, Op *op) {
    AdditionSearch *search = context;
    if (op->code == OP_ATOMIC_ADD && shared_index(search->arena, op))
        LIST_PUSH(search->arena, &search->found, op);
    return true;
}

void atomics_ask_for_one_element(Function *function) {
    AdditionSearch search = {.arena = function->arena};
    region_walk(function->body, visit, &search);
    for (LIST_EACH(int, i, search.found))
        ask(function, search.found.items[i], shared_index(search.arena, search.found.items[i]));
}
