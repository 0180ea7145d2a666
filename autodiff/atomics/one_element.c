// Atomic additions in; the same, with one addition for each element where the lanes of a tile are of a few.
#include "autodiff/atomics/one_element.h"

#include "analysis/build/build.h"
#include "analysis/ir/walk.h"
#include "autodiff/addresses/place.h"
#include "autodiff/rewrite/rewrite.h"

enum { LEAST_LANES = 32 };  // of an element: of fewer, each lane adds by itself

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

/// How many lanes a tile has.
static Value *build_lanes(Builder *b, const Type *tile) {
    const Poly *lanes = poly_constant(b->function->arena, 1);
    for (int i = 0; i < tile->rank; i++)
        lanes = poly_multiply(b->function->arena, lanes, tile->dims[i]);
    return build_poly(b, lanes);
}

/// The sum of the lanes of each element from `first` to `last` is added to it once. Nothing is, where no lane is there.
static void add_each(Builder *b, const Op *op, Value *index, Value *first, Value *last) {
    Function *function = b->function;
    Value *bounds[] = {first, build_binary(b, OP_ADD, last, build_int(b, 1)), build_int(b, 1)};
    Op *loop = op_append(b, OP_FOR, bounds, 3, 0);
    loop->range = op->range;
    loop->note = "the elements of the tile of line";
    Builder one = {.function = function, .region = op_add_region(b, loop), .range = op->range};
    Value *element = region_add_argument(function, one.region, first->type, "element");
    Value *is_own = build_binary(&one, OP_EQ, index, element), *mask = access_mask(op);
    if (mask) is_own = build_binary(&one, OP_AND, mask, is_own);
    Value *own = build_ternary(&one, OP_WHERE, is_own, op->operands[1], build_float(&one, 0.0));
    Value *address = build_binary(&one, OP_ADD, op->operands[0]->op->operands[0], element);
    build(&one, OP_ATOMIC_ADD, (Value *[]){address, build_unary(&one, OP_SUM, own), NULL}, 3);
    op_append(&one, OP_YIELD, NULL, 0, 0);
}

static void ask(Function *function, Op *op, Value *index) {
    Builder b = {.function = function, .region = op->parent, .before = op, .range = op->range};
    Value *mask = access_mask(op), *first = index, *last = index;
    if (mask) first = build_ternary(&b, OP_WHERE, mask, index, build_unary(&b, OP_MAX, index));
    first = build_unary(&b, OP_MIN, first);
    first->name = "first";
    if (mask)
        last = build_ternary(&b, OP_WHERE, mask, index,
                             build_binary(&b, OP_SUB, first, build_int(&b, 1)));
    last = build_unary(&b, OP_MAX, last);
    last->name = "last";
    Value *steps =
        build_binary(&b, OP_MUL, build_binary(&b, OP_SUB, last, first), build_int(&b, LEAST_LANES));
    Value *are_few = build_binary(&b, OP_LT, steps, build_lanes(&b, &op->operands[0]->type));
    are_few->name = "are_few";
    Op *branch = op_append(&b, OP_IF, &are_few, 1, 0);
    branch->range = op->range;
    Builder few = {.function = function, .region = op_add_region(&b, branch), .range = op->range};
    add_each(&few, op, index, first, last);
    op_append(&few, OP_YIELD, NULL, 0, 0);
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
