// Branches: `if` and conditional expressions, folded when the condition is known, else both arms and what they yield.
#include "analysis/lowering.h"

#include <string.h>

enum { MAX_SPLIT_DEPTH = 3, SPLIT_SHARE = 4, MOST_NESTED_ARMS = 32 };

bool value_truth(const Value *value, bool *result) {
    int count;
    if (value_is_tuple(value, &count)) {
        *result = count > 0;
        return true;
    }
    const Constant *constant = value->constant;
    if (!constant) return false;
    switch (constant->kind) {
    case CONSTANT_NONE: *result = false; return true;
    case CONSTANT_BOOL:
    case CONSTANT_INT: *result = constant->integer != 0; return true;
    case CONSTANT_FLOAT: *result = constant->number != 0; return true;
    case CONSTANT_STRING: *result = constant->string.size > 0; return true;
    case CONSTANT_DTYPE:
    case CONSTANT_FUNCTION: *result = true; return true;
    case CONSTANT_TUPLE: *result = constant->item_count > 0; return true;
    }
    return false;
}

static bool runtime_at(const Value *value, int depth) {
    enum { DEEPEST = 16 };
    if (!value || value->constant || value->type.is_constexpr || depth > DEEPEST) return false;
    if (!value->op)  // an induction variable; what loops carry
        return value->region && value->region->parent &&
               value->region->parent->code != OP_STATIC_FOR;
    const Op *op = value->op;
    bool needs_all = op->code == OP_LOGICAL_OR;
    switch (op->code) {
    case OP_LOAD:
    case OP_PROGRAM_ID:
    case OP_NUM_PROGRAMS:
    case OP_ARANGE:
    case OP_FULL:
    case OP_DESCRIPTOR_LOAD: return true;
    default: break;
    }
    if (op->region_count || op_rows[op->code].kind == KIND_STRUCTURAL) return false;
    if (op_rows[op->code].effects & EFFECT_ATOMIC) return true;
    for (int i = 0; i < op->operand_count; i++) {
        if (!op->operands[i]) continue;
        bool is_runtime = runtime_at(op->operands[i], depth + 1);
        if (is_runtime != needs_all) return is_runtime;
    }
    return needs_all;
}

bool value_is_runtime(const Value *value) { return runtime_at(value, 0); }

/// The operand that `==` or `!=` compares with a constant, or NULL.
static const Value *compared(const Value *condition, const Constant **constant) {
    const Op *op = condition->op;
    if (!op || (op->code != OP_EQ && op->code != OP_NE)) return NULL;
    int side = op->operands[0]->constant ? 0 : 1;
    *constant = op->operands[side]->constant;
    return *constant ? op->operands[1 - side] : NULL;
}

/// `MODE == "a"` where `MODE` is known to be "b", or not to be "a".
static bool comparison_known(const Lowering *lowering, const Value *value, bool *result) {
    const Constant *asked;
    const Value *subject = compared(value, &asked);
    if (!subject || subject->constant || !subject->type.is_constexpr) return false;
    for (const Assumption *known = lowering->assumptions; known; known = known->outer) {
        const Constant *constant;
        if (compared(known->condition, &constant) != subject) continue;
        bool is_told;
        bool same = constant_equal(constant, asked, &is_told);
        bool is_equal = (known->condition->op->code == OP_EQ) == known->truth;
        if (!is_told || (!is_equal && !same)) continue;
        *result = (value->op->code == OP_EQ) == (is_equal && same);
        return true;
    }
    return false;
}

bool condition_known(const Lowering *lowering, const Value *value, bool *result) {
    if (value_truth(value, result) || comparison_known(lowering, value, result)) return true;
    for (const Assumption *known = lowering->assumptions; known; known = known->outer)
        if (known->condition == value) {
            *result = known->truth;
            return true;
        }
    const Op *op = value->op;
    if (!op) return false;
    if (op->code == OP_LOGICAL_NOT && condition_known(lowering, op->operands[0], result)) {
        *result = !*result;
        return true;
    }
    if (op->code != OP_LOGICAL_AND && op->code != OP_LOGICAL_OR) return false;
    bool decides = op->code == OP_LOGICAL_OR;  // one such operand is enough
    bool truths[2] = {false, false};
    bool known[2];
    for (int i = 0; i < 2; i++) {
        known[i] = condition_known(lowering, op->operands[i], &truths[i]);
        if (!known[i] || truths[i] != decides) continue;
        *result = decides;
        return true;
    }
    *result = !decides;
    return known[0] && known[1];
}

void lowering_assume(Lowering *lowering, const Value *condition, bool truth, bool holds) {
    Assumption *assumption = ARENA_NEW(lowering->arena, Assumption);
    *assumption = (Assumption){condition, truth, holds, lowering->assumptions};
    lowering->assumptions = assumption;
    const Op *op = condition->op;
    if (!op || condition->type.rank > 0) return;
    if (op->code == OP_LOGICAL_NOT) lowering_assume(lowering, op->operands[0], !truth, holds);
    bool splits = (op->code == OP_LOGICAL_AND && truth) || (op->code == OP_LOGICAL_OR && !truth);
    for (int i = 0; splits && i < 2; i++) lowering_assume(lowering, op->operands[i], truth, holds);
}

Type type_at_runtime(const Value *value) {
    Type type = value->type;
    const Constant *constant = value->constant;
    if (type.kind != TYPE_NUMBER) return type;
    type.is_constexpr = false;
    if (!constant) return type;
    switch (constant->kind) {
    case CONSTANT_BOOL: type.element = dtype_of(DTYPE_INT1); break;
    case CONSTANT_INT:
        type.element =
            dtype_of(constant->integer >= INT32_MIN && constant->integer <= INT32_MAX ? DTYPE_INT32
                     : constant_is_beyond_int64(constant) ? DTYPE_UINT64
                                                          : DTYPE_INT64);
        break;
    case CONSTANT_FLOAT: type.element = dtype_of(DTYPE_FLOAT32); break;
    default: break;
    }
    return type;
}

static DType dtype_join(DType a, DType b) {
    if (dtype_equal(a, b)) return a;
    if (a.code == DTYPE_UNKNOWN || b.code == DTYPE_UNKNOWN) return dtype_of(DTYPE_UNKNOWN);
    if (dtype_is_float(a) && dtype_is_float(b)) return dtype_of(DTYPE_ANY_FLOAT);
    if (dtype_is_integer(a) && dtype_is_integer(b)) return dtype_of(DTYPE_ANY_INT);
    return dtype_of(DTYPE_ANY_NUMBER);
}

/// Whether `dim` is `2 * (size // 2)`, with any number for 2: as both are of tiles and thus powers of two, that is `size`.
static bool is_halved_and_doubled(const Poly *dim, const Poly *size) {
    if (!dim || !size || dim->count != 1 || dim->terms[0].atom_count != 1) return false;
    const Op *op = dim->terms[0].atoms[0]->op;
    int64_t factor;
    if (!op || op->code != OP_FLOORDIV || !value_is_int(op->operands[1], &factor)) return false;
    bool is_size = size->count == 1 && size->terms[0].coefficient == 1 &&
                   size->terms[0].atom_count == 1 && size->terms[0].atoms[0] == op->operands[0];
    return is_size && dim->terms[0].coefficient == factor;
}

/// What is known of a dimension that is `a` in one arm and `b` in the other.
static const Poly *dim_join(const Poly *a, const Poly *b) {
    if (poly_equal(a, b) || is_halved_and_doubled(b, a)) return a;
    return is_halved_and_doubled(a, b) ? b : NULL;
}

/// Tiles of the same rank, dims that differ not understood; a scalar takes the shape of the tile it stands in for.
static Type shape_join(Arena *arena, Type result, Type a, Type b) {
    if (a.rank == 0 || b.rank == 0) {
        Type tile = a.rank ? a : b;
        result.rank = tile.rank;
        result.dims = tile.dims;
        return result;
    }
    if (a.rank != b.rank) return (Type){0};
    const Poly **dims = ARENA_ARRAY(arena, const Poly *, a.rank);
    for (int i = 0; i < a.rank; i++) dims[i] = dim_join(a.dims[i], b.dims[i]);
    result.rank = a.rank;
    result.dims = dims;
    return result;
}

Type type_join(Arena *arena, Type a, Type b) {
    if (a.kind == TYPE_NONE) return b;
    if (b.kind == TYPE_NONE) return a;
    if (a.kind != b.kind) return (Type){0};
    if (type_equal(a, b)) return a;
    Type result = a;
    result.is_constexpr = a.is_constexpr && b.is_constexpr;
    bool a_adapts = a.is_constexpr && a.rank == 0;
    bool b_adapts = b.is_constexpr && b.rank == 0;
    switch (a.kind) {
    case TYPE_NUMBER:
        result.element =
            a_adapts && !b_adapts && dtype_is_float(a.element) <= dtype_is_float(b.element)
                ? b.element
            : b_adapts && !a_adapts && dtype_is_float(b.element) <= dtype_is_float(a.element)
                ? a.element
                : dtype_join(a.element, b.element);
        return shape_join(arena, result, a, b);
    case TYPE_POINTER:
    case TYPE_BLOCK_POINTER:
    case TYPE_DESCRIPTOR:
        result.element = dtype_join(a.element, b.element);
        return shape_join(arena, result, a, b);
    case TYPE_DTYPE: result.element = dtype_of(DTYPE_UNKNOWN); return result;
    default: return result;
    }
}

// --- Two arms

typedef Outcome ArmLowerer(Lowering *lowering, void *context, bool is_first);

typedef struct Merge {
    Lowering *lowering;
    Op *op;
    bool is_constexpr;  // of the condition
    bool is_runtime;    // in every instance
    LIST(Value *) yields[2];
} Merge;

/// What an arm came to, and whether it reads a variable that has no value there: Triton refuses it.
typedef struct Arm {
    Outcome outcome;
    Variables after;
    bool is_refused;
} Arm;

/// What becomes of the statements after the arms.
typedef enum After {
    AFTER_FOLLOWS,  // they follow: the arms' variables are merged
    AFTER_LEAVES,   // they are in the arms, up to the end of the function
    AFTER_SPLITS,   // they are in the arms, up to the end of the block around
} After;

static Builder builder_in(const Lowering *lowering, Region *region) {
    Builder builder = lowering->builder;
    builder.region = region;
    builder.before = NULL;
    return builder;
}

static Value *undefined_in(Merge *merge, int arm) {
    Builder builder = builder_in(merge->lowering, merge->op->regions[arm]);
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
/// for both, and stays one text (a loop that is split is no longer seen as a softmax).
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

/// Whether an `if` at compile time left something else than a tile in one of its arms: None, or one number.
static bool is_partly_tile(const Value *value, int depth) {
    if (!value->op || value->op->code != OP_IF || depth > MOST_NESTED_ARMS) return false;
    for (int arm = 0; arm < 2; arm++) {
        const Value *item = region_terminator(value->op->regions[arm])->operands[value->index];
        if (is_absent_or_number(item) || is_partly_tile(item, depth + 1)) return true;
    }
    return false;
}

static Value *spread_to(const Merge *merge, Builder *builder, Value *value, const Poly **dims);

/// Another result of the `if` that made the value, spread in those of its arms that have a tile.
static Value *spread_in_arms(const Merge *merge, const Value *value, const Poly **dims) {
    Op *op = value->op;
    Arena *arena = merge->lowering->arena;
    Type type = value->type;
    for (int arm = 0; arm < 2; arm++) {
        Op *yield = region_terminator(op->regions[arm]);
        Builder builder = builder_in(merge->lowering, op->regions[arm]);
        builder.before = yield;
        Value *item = spread_to(merge, &builder, yield->operands[value->index], dims);
        Value **items = ARENA_ARRAY(arena, Value *, yield->operand_count + 1);
        memcpy(items, yield->operands, (size_t)yield->operand_count * sizeof *items);
        items[yield->operand_count++] = item;
        yield->operands = items;
    }
    type.dims = dims;
    Value *result = op_append_result(merge->lowering->builder.function, op, type);
    result->name = value->name;
    return result;
}

static Value *spread_to(const Merge *merge, Builder *builder, Value *value, const Poly **dims) {
    if (is_absent_or_number(value)) return value;
    if (is_partly_tile(value, 0)) return spread_in_arms(merge, value, dims);
    Type type = value->type;
    type.dims = dims;
    Value *shape = build_shape(builder, type);
    return shape ? build_binary(builder, OP_BROADCAST_TO, value, shape) : value;
}

/// The tile of an arm in the shape that both have once they are broadcast.
static Value *spread_in(const Merge *merge, int arm, Value *value, Type other) {
    Type type = value->type;
    bool is_spread = false;
    const Poly **dims = ARENA_ARRAY(merge->lowering->arena, const Poly *, type.rank + 1);
    for (int i = 0; i < type.rank; i++) {
        bool is_narrow = is_single(type.dims[i]) && !is_single(other.dims[i]);
        dims[i] = is_narrow ? other.dims[i] : type.dims[i];
        is_spread = is_spread || is_narrow;
    }
    if (!is_spread) return value;
    Builder builder = builder_in(merge->lowering, merge->op->regions[arm]);
    return spread_to(merge, &builder, value, dims);
}

/// The value after the arms of a variable that is `a` after the first and `b` after the second (NULL: undefined).
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
    if (merge->is_constexpr && shapes_broadcast(a->type, b->type)) {
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

/// Whether nothing is known any more of what was known in each arm: two shapes, or two kinds of value.
static bool merge_forgets(const Value *a, const Value *b, const Value *merged) {
    int count_a;
    int count_b;
    if (!a || !b || a->type.kind == TYPE_NONE || b->type.kind == TYPE_NONE) return false;
    if (a->type.kind == TYPE_UNKNOWN || b->type.kind == TYPE_UNKNOWN) return false;
    if (value_is_tuple(a, &count_a) && value_is_tuple(b, &count_b)) return count_a != count_b;
    if (shapes_broadcast(a->type, b->type)) return false;
    // One address or a tile of them: what is loaded has another shape in each arm.
    if (a->type.kind == TYPE_POINTER && b->type.kind == TYPE_POINTER &&
        a->type.rank != b->type.rank)
        return true;
    return merged->type.kind == TYPE_UNKNOWN ||
           (!dims_are_known(merged->type) && dims_are_known(a->type) && dims_are_known(b->type));
}

static void merge_variables(Merge *merge, Variables first, Variables second) {
    Lowering *lowering = merge->lowering;
    Frame *frame = lowering->frame;
    for (int slot = 0; slot < frame->names.count; slot++) {
        Value *a = slot < first.count ? first.values[slot] : NULL;
        Value *b = slot < second.count ? second.values[slot] : NULL;
        if (!a && !b) continue;
        Str name = frame->names.items[slot];
        // What only one of two run-time arms assigns does not exist after them.
        if ((!a || !b) && merge->is_runtime) {
            variable_set(lowering, name, NULL);
            continue;
        }
        Value *merged = a == b ? a : merge_pair(merge, a, b, str_dup(lowering->arena, name));
        if (merge_forgets(a, b, merged)) LIST_PUSH(lowering->arena, &lowering->forgotten, name);
        variable_set(lowering, name, merged);
    }
}

static Arm lower_arm(Lowering *lowering, Op *op, int arm, ArmLowerer *lower, void *context) {
    Builder outside = lowering->builder;
    const Assumption *assumptions = lowering->assumptions;
    int unassigned = lowering->unassigned;
    lowering->builder = builder_in(lowering, op->regions[arm]);
    lowering_assume(lowering, op->operands[0], arm == 0, false);
    Outcome outcome = lower(lowering, context, arm == 0);
    lowering->assumptions = assumptions;
    lowering->builder = outside;
    return (Arm){.outcome = outcome,
                 .after = lowering->frame->variables,
                 .is_refused = lowering->unassigned > unassigned};
}

static void append_yield(const Lowering *lowering, Region *region, Value *const *values,
                         int count) {
    Builder builder = builder_in(lowering, region);
    op_append(&builder, OP_YIELD, values, count, 0);
}

/// OP_IF with both arms lowered. Arms that run to the end of the function hand on what it returns. `only`: 1 the first
/// arm, 0 the second, if the other is one that Triton refuses, else -1.
static Outcome lower_arms(Lowering *lowering, Value *condition, ArmLowerer *lower, void *context,
                          After after, int *only) {
    Op *op = op_append(&lowering->builder, OP_IF, &condition, 1, 0);
    op_add_region(&lowering->builder, op);
    op_add_region(&lowering->builder, op);
    Frame *frame = lowering->frame;
    Variables before = variables_copy(lowering);
    frame->unknown_conditions++;
    Arm first = lower_arm(lowering, op, 0, lower, context);
    frame->variables = before;
    Arm second = lower_arm(lowering, op, 1, lower, context);
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

// --- A choice that the lowering itself makes

typedef struct Choice {
    ChoiceLowerer *lower;
    void *context;
} Choice;

static Outcome choice_arm(Lowering *lowering, void *context, bool is_first) {
    const Choice *choice = context;
    return (Outcome){.value = choice->lower(lowering, choice->context, is_first)};
}

Value *lower_choice(Lowering *lowering, Value *condition, ChoiceLowerer *lower, void *context) {
    bool truth;
    if (condition_known(lowering, condition, &truth)) return lower(lowering, context, truth);
    Choice choice = {lower, context};
    return lower_arms(lowering, condition, choice_arm, &choice, AFTER_FOLLOWS, &(int){0}).value;
}

Value *function_choice(const Value *value, Value *functions[2]) {
    const Op *op = value ? value->op : NULL;
    if (!op || op->code != OP_IF || value->type.kind != TYPE_FUNCTION) return NULL;
    for (int arm = 0; arm < 2; arm++)
        functions[arm] = region_terminator(op->regions[arm])->operands[value->index];
    return op->operands[0];
}

// --- The statement

typedef struct Chain {
    SyntaxNode *conditions;
    SyntaxNode *blocks;
    int count;             // of conditions
    SyntaxNode otherwise;  // block of `else`, or null
    int at;
    const Rest *rest;   // what the arms take with them, or NULL
    const Rest *after;  // what follows in any case
    After mode;         // what becomes of the statements after the chain
} Chain;

static Outcome chain_lower(Lowering *lowering, Chain chain);

static Outcome chain_block(Lowering *lowering, SyntaxNode block, const Rest *rest) {
    SyntaxNode *items;
    int count = node_children(lowering->arena, block, &items);
    Rest inner = {items, count, 0, rest};
    return lower_rest(lowering, &inner);
}

static Outcome chain_arm(Lowering *lowering, void *context, bool is_first) {
    Chain chain = *(const Chain *)context;
    if (is_first) return chain_block(lowering, chain.blocks[chain.at], chain.rest);
    chain.at++;
    Outcome outcome = {0};
    if (lowering_deeper(lowering, chain.conditions[chain.at - 1]))
        outcome = chain_lower(lowering, chain);
    lowering->depth--;
    return outcome;
}

/// Whether a block says that it is never compiled: `raise`, or a static assertion of False.
static bool block_is_refused(const Lowering *lowering, SyntaxNode block) {
    for (uint32_t i = 0; !node_is_null(block) && i < node_child_count(block); i++) {
        SyntaxNode statement = node_child(block, i);
        if (node_kind(statement) == SYNTAX_RAISE) return true;
        SyntaxNode call = node_child(statement, 0);
        if (node_kind(statement) != SYNTAX_EXPRESSION_STATEMENT || node_kind(call) != SYNTAX_CALL)
            continue;
        SyntaxNode arguments = node_field(call, "arguments");
        if (str_ends(lowering_text(lowering, node_field(call, "function")), "static_assert") &&
            node_child_count(arguments) && node_kind(node_child(arguments, 0)) == SYNTAX_FALSE)
            return true;
    }
    return false;
}

/// The only arm that an instance of the kernel can have: 1 the first, 0 what follows it, -1 both.
static int chain_only_arm(const Lowering *lowering, const Chain *chain, const Value *condition) {
    if (!condition->type.is_constexpr) return -1;
    if (block_is_refused(lowering, chain->blocks[chain->at])) return 0;
    bool is_last = chain->at + 1 == chain->count;
    return is_last && block_is_refused(lowering, chain->otherwise) ? 1 : -1;
}

/// Whether what follows reads a variable that lost its type where the arms met.
static bool split_helps(const Lowering *lowering, const Chain *chain, int forgotten) {
    if (chain->rest || chain->at > 0 || lowering->split_depth >= MAX_SPLIT_DEPTH) return false;
    if (lowering->builder.function->op_count > lowering->max_ops / SPLIT_SHARE) return false;
    for (int i = forgotten; i < lowering->forgotten.count; i++)
        if (rest_reads(lowering, chain->after, lowering->forgotten.items[i])) return true;
    return false;
}

/// Where a chain's arms begin, to take them back.
typedef struct Start {
    const Op *last;
    Variables variables;
    int forgotten;
    int said;
    int unassigned;
} Start;

static Start chain_start(Lowering *lowering) {
    return (Start){.last = lowering->builder.region->last,
                   .variables = variables_copy(lowering),
                   .forgotten = lowering->forgotten.count,
                   .said = lowering->diagnostics ? lowering->diagnostics->list.count : 0,
                   .unassigned = lowering->unassigned};
}

/// Takes back the arms of `condition`; false where something stands behind them.
static bool chain_restart(Lowering *lowering, const Start *start, const Value *condition) {
    // Constexpr expressions were put further up, so the last op is the one to take back.
    Op *made = lowering->builder.before ? lowering->builder.before->previous
                                        : lowering->builder.region->last;
    if (made == start->last || made->code != OP_IF || made->operands[0] != condition) return false;
    op_remove(made);
    lowering->frame->variables = start->variables;
    lowering->forgotten.count = start->forgotten;
    lowering->unassigned = start->unassigned;
    if (lowering->diagnostics) lowering->diagnostics->list.count = start->said;
    return true;
}

/// The arm that an instance of the kernel takes if it compiles: the truth of the condition from here on.
static Outcome chain_only(Lowering *lowering, Chain chain, const Value *condition, bool truth) {
    lowering_assume(lowering, condition, truth, true);
    return chain_arm(lowering, &chain, truth);
}

/// Both arms. Where they leave a variable with two shapes or kinds, and an instance of the kernel has only one of them,
/// what follows is lowered once for each.
static Outcome chain_arms(Lowering *lowering, Chain chain, Value *condition) {
    int only;
    if (!condition->type.is_constexpr)
        return lower_arms(lowering, condition, chain_arm, &chain, chain.mode, &only);
    Start start = chain_start(lowering);
    Outcome outcome = lower_arms(lowering, condition, chain_arm, &chain, chain.mode, &only);
    bool splits = only < 0 && split_helps(lowering, &chain, start.forgotten);
    if (only < 0 && !splits) return outcome;
    if (!chain_restart(lowering, &start, condition)) return outcome;
    if (!splits) return chain_only(lowering, chain, condition, only);
    Chain whole = chain;
    chain.rest = chain.after;
    chain.mode = AFTER_SPLITS;
    start = chain_start(lowering);
    lowering->split_depth++;
    outcome = lower_arms(lowering, condition, chain_arm, &chain, chain.mode, &only);
    lowering->split_depth--;
    lowering->forgotten.count = start.forgotten;
    bool is_one = only >= 0 && chain_restart(lowering, &start, condition);
    return is_one ? chain_only(lowering, whole, condition, only) : outcome;
}

static Outcome chain_lower(Lowering *lowering, Chain chain) {
    if (chain.at == chain.count) return chain_block(lowering, chain.otherwise, chain.rest);
    SyntaxNode node = chain.conditions[chain.at];
    Value *condition = lower_value(lowering, node);
    bool truth;
    if (condition_known(lowering, condition, &truth)) return chain_arm(lowering, &chain, truth);
    int only = chain_only_arm(lowering, &chain, condition);
    if (only >= 0) return chain_only(lowering, chain, condition, only);
    Range former = lowering_at(lowering, node);
    Outcome outcome = chain_arms(lowering, chain, condition);
    lowering->builder.range = former;
    return outcome;
}

Outcome lower_if(Lowering *lowering, SyntaxNode node, const Rest *after, bool leaves) {
    SyntaxNode *children;
    int count = node_children(lowering->arena, node, &children);
    Chain chain = {.conditions = ARENA_ARRAY(lowering->arena, SyntaxNode, count + 1),
                   .blocks = ARENA_ARRAY(lowering->arena, SyntaxNode, count + 1),
                   .rest = leaves ? after : NULL,
                   .after = after,
                   .mode = leaves ? AFTER_LEAVES : AFTER_FOLLOWS};
    chain.conditions[0] = node_field(node, "condition");
    chain.blocks[0] = node_field(node, "consequence");
    chain.count = 1;
    for (int i = 0; i < count; i++) {
        if (node_kind(children[i]) == SYNTAX_ELIF) {
            chain.conditions[chain.count] = node_field(children[i], "condition");
            chain.blocks[chain.count++] = node_field(children[i], "consequence");
        } else if (node_kind(children[i]) == SYNTAX_ELSE) {
            chain.otherwise = node_field(children[i], "body");
        }
    }
    return chain_lower(lowering, chain);
}

// --- The expression

static Outcome conditional_arm(Lowering *lowering, void *context, bool is_first) {
    const SyntaxNode *arms = context;
    return (Outcome){.value = lower_value(lowering, arms[is_first ? 0 : 1])};
}

Value *lower_conditional(Lowering *lowering, SyntaxNode node) {
    SyntaxNode *children;
    int count = node_children(lowering->arena, node, &children);
    if (count < 3) return lowering_silent(lowering, "an unfinished expression");
    Value *condition = lower_value(lowering, children[1]);
    SyntaxNode arms[2] = {children[0], children[2]};
    bool truth;
    if (condition_known(lowering, condition, &truth))
        return lower_value(lowering, arms[truth ? 0 : 1]);
    lowering_at(lowering, node);
    return lower_arms(lowering, condition, conditional_arm, arms, AFTER_FOLLOWS, &(int){0}).value;
}
