// Two branches on a condition that is not known: both are lowered, and their variables merged.
#include "analysis/frames/branches.h"

#include <string.h>

#include "analysis/build/build.h"
#include "analysis/frames/conditions.h"
#include "analysis/frames/tuples.h"
#include "analysis/frames/type_join.h"

enum { MOST_NESTED_BRANCHES = 32 };

typedef struct Merge {
    Lowering *lowering;
    Op *op;
    bool is_constexpr;  // of the condition
    bool is_runtime;    // in every instance
    LIST(Value *) yields[2];
} Merge;

/// What a branch came to, and whether it reads a variable that has no value there: Triton refuses it.
typedef struct Branch {
    Outcome outcome;
    Variables after;
    bool is_refused;
} Branch;

static Builder builder_in(const Lowering *lowering, Region *region) {
    Builder builder = lowering->builder;
    builder.region = region;
    builder.before = NULL;
    return builder;
}

static Value *undefined_in(Merge *merge, int branch) {
    Builder builder = builder_in(merge->lowering, merge->op->regions[branch]);
    Op *op = op_append(&builder, OP_UNDEFINED, NULL, 0, 1);
    op->results[0]->type = (Type){.kind = TYPE_NONE};
    return op->results[0];
}

static Value *merge_pair(Merge *merge, Value *a, Value *b, const char *name);

static Value *merge_tuple(Merge *merge, Value *a, Value *b, int count) {
    Lowering *lowering = merge->lowering;
    Value **items = ARENA_ARRAY(lowering->arena, Value *, count + 1);
    for (int i = 0; i < count; i++) {
        bool has_a = a && value_is_tuple(a, &(int){0});
        bool has_b = b && value_is_tuple(b, &(int){0});
        items[i] = merge_pair(merge, has_a ? tuple_item(lowering, a, i) : NULL,
                              has_b ? tuple_item(lowering, b, i) : NULL, NULL);
    }
    Value *tuple = build_tuple(&lowering->builder, items, count);
    tuple->op->note = a && value_is_tuple(a, &(int){0}) ? a->op->note : b->op->note;
    return tuple;
}

static bool is_single(const Poly *dim) {
    int64_t number;
    return poly_is_constant(dim, &number) && number == 1;
}

/// Tiles of one rank that differ only where one has a single lane: a row of flags and a matrix of flags. What follows is the same
/// for both, and stays one text (a loop that is split is no longer seen as a softmax). Where it is not (spread_is_seen), the
/// kernel is lowered again, and the shapes stay (keeps_shapes).
static bool shapes_broadcast(Type a, Type b) {
    if (a.kind != TYPE_NUMBER || b.kind != TYPE_NUMBER || a.rank != b.rank) return false;
    for (int i = 0; i < a.rank; i++) {
        if (!a.dims[i] || !b.dims[i]) return false;
        bool single = is_single(a.dims[i]) || is_single(b.dims[i]);
        if (!single && !poly_equal(a.dims[i], b.dims[i])) return false;
    }
    return true;
}

static bool is_absent_or_number(const Value *value) {
    return value->type.kind == TYPE_NONE || value_is_none(value) ||
           (value->type.kind == TYPE_NUMBER && value->type.rank == 0);
}

/// Whether an `if` at compile time left something else than a tile in one of its branches: None, or one number.
static bool is_partly_tile(const Value *value, int depth) {
    if (!value->op || value->op->code != OP_IF || depth > MOST_NESTED_BRANCHES) return false;
    for (int branch = 0; branch < 2; branch++) {
        const Value *item = region_terminator(value->op->regions[branch])->operands[value->index];
        if (is_absent_or_number(item) || is_partly_tile(item, depth + 1)) return true;
    }
    return false;
}

static Value *spread_to(const Merge *merge, Builder *builder, Value *value, const Poly **dims);

static void yield_more(Arena *arena, Op *yield, Value *item) {
    Value **items = ARENA_ARRAY(arena, Value *, yield->operand_count + 1);
    memcpy(items, yield->operands, (size_t)yield->operand_count * sizeof *items);
    items[yield->operand_count++] = item;
    yield->operands = items;
}

/// Another result of the `if` that made the value, spread in those of its branches that have a tile.
static Value *spread_in_branches(const Merge *merge, const Value *value, const Poly **dims) {
    Op *op = value->op;
    Arena *arena = merge->lowering->arena;
    Type type = value->type;
    for (int branch = 0; branch < 2; branch++) {
        Op *yield = region_terminator(op->regions[branch]);
        Builder builder = builder_in(merge->lowering, op->regions[branch]);
        builder.before = yield;
        yield_more(arena, yield, spread_to(merge, &builder, yield->operands[value->index], dims));
    }
    type.dims = dims;
    Value *result = op_append_result(merge->lowering->builder.function, op, type);
    result->name = value->name;
    return result;
}

static Value *spread_to(const Merge *merge, Builder *builder, Value *value, const Poly **dims) {
    if (is_absent_or_number(value)) return value;
    if (is_partly_tile(value, 0)) return spread_in_branches(merge, value, dims);
    Type type = value->type;
    type.dims = dims;
    Value *shape = build_shape(builder, type);
    if (!shape) return value;
    Value *spread = build_binary(builder, OP_BROADCAST_TO, value, shape);
    if (spread->op && spread->op->code == OP_BROADCAST_TO) spread->op->note = SPREAD_NOTE;
    return spread;
}

/// The tile of a branch in the shape that both have once they are broadcast.
static Value *spread_in(const Merge *merge, int branch, Value *value, Type other) {
    Type type = value->type;
    bool is_spread = false;
    const Poly **dims = ARENA_ARRAY(merge->lowering->arena, const Poly *, type.rank + 1);
    for (int i = 0; i < type.rank; i++) {
        bool is_narrow = is_single(type.dims[i]) && !is_single(other.dims[i]);
        dims[i] = is_narrow ? other.dims[i] : type.dims[i];
        is_spread = is_spread || is_narrow;
    }
    if (!is_spread) return value;
    Builder builder = builder_in(merge->lowering, merge->op->regions[branch]);
    return spread_to(merge, &builder, value, dims);
}

/// The value after the branches of a variable that is `a` after the first and `b` after the second (NULL: undefined).
static Value *merge_pair(Merge *merge, Value *a, Value *b, const char *name) {
    Lowering *lowering = merge->lowering;
    if (a == b) return a;
    int count_a = 0;
    int count_b = 0;
    bool tuple_a = a && value_is_tuple(a, &count_a);
    bool tuple_b = b && value_is_tuple(b, &count_b);
    bool absent_a = !a || value_is_none(a);
    bool absent_b = !b || value_is_none(b);
    if (tuple_a && tuple_b && count_a == count_b) return merge_tuple(merge, a, b, count_a);
    if (tuple_a && absent_b) return merge_tuple(merge, a, NULL, count_a);
    if (tuple_b && absent_a) return merge_tuple(merge, NULL, b, count_b);
    if (!a) a = undefined_in(merge, 0);
    if (!b) b = undefined_in(merge, 1);
    if (merge->is_constexpr && !lowering->keeps_shapes && shapes_broadcast(a->type, b->type)) {
        Type narrow = a->type;
        a = spread_in(merge, 0, a, b->type);
        b = spread_in(merge, 1, b, narrow);
    }
    LIST_PUSH(lowering->arena, &merge->yields[0], a);
    LIST_PUSH(lowering->arena, &merge->yields[1], b);
    bool stays_constexpr = merge->is_constexpr && a->type.is_constexpr && b->type.is_constexpr;
    Type type = type_join(lowering->arena, stays_constexpr ? a->type : type_at_runtime(a),
                          stays_constexpr ? b->type : type_at_runtime(b));
    // A parameter that is a pointer in one instance of the kernel and a number in another.
    if (merge->is_constexpr && a->type.kind == TYPE_POINTER && a->region &&
        b->type.kind == TYPE_NUMBER)
        type = b->type;
    if (merge->is_constexpr && b->type.kind == TYPE_POINTER && b->region &&
        a->type.kind == TYPE_NUMBER)
        type = a->type;
    // A constexpr takes on the type of what it stands beside.
    if (a->type.is_constexpr != b->type.is_constexpr)
        type = type_join(lowering->arena, a->type, b->type);
    if (!stays_constexpr && type.kind == TYPE_NUMBER) type.is_constexpr = false;
    Value *result = op_append_result(lowering->builder.function, merge->op, type);
    result->name = name;
    return result;
}

static bool dims_are_known(Type type) {
    for (int i = 0; i < type.rank; i++)
        if (!type.dims[i]) return false;
    return true;
}

/// One loaded or computed number in one branch, and a tile of them in the other: an address has lanes for each of them alone. A number
/// that the text says, or None, stands for a tile of it.
static bool is_number_or_tile(const Value *a, const Value *b) {
    bool are_numbers = a->type.kind == TYPE_NUMBER && b->type.kind == TYPE_NUMBER;
    const Value *scalar = a->type.rank == 0 ? a : b;
    return are_numbers && (a->type.rank == 0) != (b->type.rank == 0) && !scalar->constant &&
           !scalar->type.is_constexpr;
}

/// Whether nothing is known any more of what was known in each branch: two shapes, or two kinds of value.
static bool merge_forgets(const Lowering *lowering, const Value *a, const Value *b,
                          const Value *merged) {
    int count_a;
    int count_b;
    if (!a || !b || a->type.kind == TYPE_NONE || b->type.kind == TYPE_NONE) return false;
    if (a->type.kind == TYPE_UNKNOWN || b->type.kind == TYPE_UNKNOWN) return false;
    if (value_is_tuple(a, &count_a) && value_is_tuple(b, &count_b)) return count_a != count_b;
    if (!lowering->keeps_shapes && shapes_broadcast(a->type, b->type)) return false;
    if (is_number_or_tile(a, b)) return true;
    // One address or a tile of them: what is loaded has another shape in each branch.
    if (a->type.kind == TYPE_POINTER && b->type.kind == TYPE_POINTER &&
        a->type.rank != b->type.rank)
        return true;
    return merged->type.kind == TYPE_UNKNOWN ||
           (!dims_are_known(merged->type) && dims_are_known(a->type) && dims_are_known(b->type));
}

static void merge_variables(Merge *merge, Variables first, Variables second) {
    Lowering *lowering = merge->lowering;
    LoweringFrame *frame = lowering->frame;
    for (int slot = 0; slot < frame->names.count; slot++) {
        Value *a = slot < first.count ? first.values[slot] : NULL;
        Value *b = slot < second.count ? second.values[slot] : NULL;
        if (!a && !b) continue;
        Str name = frame->names.items[slot];
        // What only one of two run-time branches assigns does not exist after them.
        if ((!a || !b) && merge->is_runtime) {
            variable_set(lowering, name, NULL);
            continue;
        }
        Value *merged = a == b ? a : merge_pair(merge, a, b, str_dup(lowering->arena, name));
        if (merge_forgets(lowering, a, b, merged))
            LIST_PUSH(lowering->arena, &lowering->forgotten, name);
        variable_set(lowering, name, merged);
    }
}

static Branch lower_branch(Lowering *lowering, Op *op, int branch, BranchLowerer *lower,
                           void *context) {
    Builder outside = lowering->builder;
    const LoweringAssumption *assumptions = lowering->assumptions;
    int unassigned = lowering->unassigned;
    lowering->builder = builder_in(lowering, op->regions[branch]);
    lowering_assume(lowering, op->operands[0], branch == 0, false);
    Outcome outcome = lower(lowering, context, branch == 0);
    lowering->assumptions = assumptions;
    lowering->builder = outside;
    return (Branch){.outcome = outcome,
                    .after = lowering->frame->variables,
                    .is_refused = lowering->unassigned > unassigned};
}

static void append_yield(const Lowering *lowering, Region *region, Value *const *values,
                         int count) {
    Builder builder = builder_in(lowering, region);
    op_append(&builder, OP_YIELD, values, count, 0);
}

Outcome lower_branches(Lowering *lowering, Value *condition, BranchLowerer *lower, void *context,
                       After after, int *only) {
    Op *op = op_append(&lowering->builder, OP_IF, &condition, 1, 0);
    op_add_region(&lowering->builder, op);
    op_add_region(&lowering->builder, op);
    LoweringFrame *frame = lowering->frame;
    Variables before = variables_copy(lowering);
    frame->unknown_conditions++;
    Branch first = lower_branch(lowering, op, 0, lower, context);
    frame->variables = before;
    Branch second = lower_branch(lowering, op, 1, lower, context);
    frame->unknown_conditions--;
    *only = first.is_refused == second.is_refused ? -1 : second.is_refused;
    Merge merge = {.lowering = lowering,
                   .op = op,
                   .is_constexpr = condition->type.is_constexpr,
                   .is_runtime = value_is_runtime(condition)};
    Value *values[2] = {first.outcome.value, second.outcome.value};
    Outcome outcome = {.ended = after == AFTER_SPLITS};
    bool returns = after == AFTER_SPLITS && (first.outcome.returned || second.outcome.returned);
    if (after == AFTER_LEAVES || returns) {
        outcome.returned = true;
        if (values[0] || values[1]) outcome.value = merge_pair(&merge, values[0], values[1], NULL);
    } else {
        frame->variables = variables_copy(lowering);
        merge_variables(&merge, first.after, second.after);
        outcome.value =
            values[0] && values[1] ? merge_pair(&merge, values[0], values[1], NULL) : NULL;
    }
    append_yield(lowering, op->regions[0], merge.yields[0].items, merge.yields[0].count);
    append_yield(lowering, op->regions[1], merge.yields[1].items, merge.yields[1].count);
    return outcome;
}

// --- Variables that have another type in each branch

/// A result that is what one side has, and nothing from the other.
static Value *result_of_side(Lowering *lowering, Op *branch, int side, Value *value) {
    for (int i = 0; i < 2; i++) {
        Op *yield = region_terminator(branch->regions[i]);
        Builder builder = builder_in(lowering, branch->regions[i]);
        builder.before = yield;
        Value *item = value;
        if (i != side) {
            item = op_append(&builder, OP_UNDEFINED, NULL, 0, 1)->results[0];
            item->type = (Type){.kind = TYPE_NONE};
        }
        yield_more(lowering->arena, yield, item);
    }
    return op_append_result(lowering->builder.function, branch, type_at_runtime(value));
}

bool branches_tell_apart(Lowering *lowering, Op *branch, Str name) {
    const Value *merged = variable_get(lowering, name);
    if (!merged || merged->op != branch) return false;
    Value *sides[2];
    for (int side = 0; side < 2; side++) {
        sides[side] = region_terminator(branch->regions[side])->operands[merged->index];
        Type type = sides[side]->type;
        bool is_tile = type.kind == TYPE_POINTER || type.kind == TYPE_NUMBER;
        if (!is_tile || type.is_constexpr) return false;
    }
    VariableVersions told = {.merged = merged, .condition = branch->operands[0]};
    for (int side = 0; side < 2; side++) {
        told.versions[side] = result_of_side(lowering, branch, side, sides[side]);
        told.versions[side]->name = merged->name;
    }
    LIST_PUSH(lowering->arena, &lowering->versions, told);
    return true;
}

Value *version_known(const Lowering *lowering, Value *value) {
    for (LIST_EACH(int, i, lowering->versions)) {
        const VariableVersions *told = &lowering->versions.items[i];
        bool truth;
        if (told->merged == value && condition_known(lowering, told->condition, &truth))
            return told->versions[truth ? 0 : 1];
    }
    return value;
}

// --- A choice that the lowering itself makes

typedef struct BranchChoice {
    ChoiceLowerer *lower;
    void *context;
} BranchChoice;

static Outcome choice_branch(Lowering *lowering, void *context, bool is_first) {
    const BranchChoice *choice = context;
    return (Outcome){.value = choice->lower(lowering, choice->context, is_first)};
}

Value *lower_choice(Lowering *lowering, Value *condition, ChoiceLowerer *lower, void *context) {
    bool truth;
    if (condition_known(lowering, condition, &truth)) return lower(lowering, context, truth);
    BranchChoice choice = {lower, context};
    return lower_branches(lowering, condition, choice_branch, &choice, AFTER_FOLLOWS, &(int){0})
        .value;
}

Value *function_choice(const Value *value, Value *functions[2]) {
    const Op *op = value ? value->op : NULL;
    if (!op || op->code != OP_IF || value->type.kind != TYPE_FUNCTION) return NULL;
    for (int branch = 0; branch < 2; branch++)
        functions[branch] = region_terminator(op->regions[branch])->operands[value->index];
    return op->operands[0];
}
