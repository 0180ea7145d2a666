// Loops: range() of every kind, loops over tuples, `while`; which variables they carry, and unrolling.
#include "analysis/statements/lower_loop.h"

#include "analysis/build/build.h"
#include "analysis/calls/lower_operation.h"
#include "analysis/expressions/lower_expression.h"
#include "analysis/frames/conditions.h"
#include "analysis/frames/lowering.h"
#include "analysis/frames/ranges.h"
#include "analysis/frames/recursion.h"
#include "analysis/frames/tuples.h"
#include "analysis/frames/type_join.h"
#include "analysis/statements/lower_statement.h"
#include "analysis/syntax/syntax_nodes.h"

enum { UNROLL_IN_ANALYSIS = 32, UNROLL_IN_REASON = 8192, MAX_ATTEMPTS = 2 };

/// A variable that a loop may change, as the numbers and pointers it consists of.
typedef struct CarriedVariable {
    int slot;
    Value *initial;  // NULL: not assigned before the loop (static loops only)
    int first_leaf;
    int leaf_count;
} CarriedVariable;

typedef struct LoopCarry {
    LIST(CarriedVariable) variables;
    LIST(Value *) initials;  // leaves
    Type *types;             // by leaf
} LoopCarry;

typedef struct LoweredLoop {
    SyntaxNode node;
    SyntaxNode body;
    SyntaxNode target;  // null for `while`
    OpCode code;
    Value *bounds[3];
    LIST(Keyword) keywords;
} LoweredLoop;

// --- Leaves of tuples

static int leaves_count(const Value *value) {
    int count;
    if (!value || !value_is_tuple(value, &count)) return 1;
    int total = 0;
    for (int i = 0; i < count; i++) total += leaves_count(value->op->operands[i]);
    return total;
}

static void leaves_add(Lowering *lowering, LoopCarry *carry, Value *value) {
    int count;
    if (!value || !value_is_tuple(value, &count)) {
        LIST_PUSH(lowering->arena, &carry->initials, value);
        return;
    }
    for (int i = 0; i < count; i++) leaves_add(lowering, carry, tuple_item(lowering, value, i));
}

/// A value built like `shape`, its leaves taken from `leaves` in order.
static Value *leaves_rebuild(Lowering *lowering, const Value *shape, Value *const *leaves,
                             int *next) {
    int count;
    if (!shape || !value_is_tuple(shape, &count)) return leaves[(*next)++];
    Value **items = ARENA_ARRAY(lowering->arena, Value *, count + 1);
    for (int i = 0; i < count; i++)
        items[i] = leaves_rebuild(lowering, shape->op->operands[i], leaves, next);
    Value *tuple = build_tuple(&lowering->builder, items, count);
    tuple->op->note = shape->op->note;
    return tuple;
}

static Value *undefined_value(Lowering *lowering) {
    Op *op = op_append(&lowering->builder, OP_UNDEFINED, NULL, 0, 1);
    op->results[0]->type = (Type){.kind = TYPE_NONE};
    return op->results[0];
}

/// The leaves of `value` where it is built like `shape`, else unknowns.
static void leaves_match(Lowering *lowering, const Value *shape, Value *value, Value **leaves,
                         int *next) {
    int shape_count = 0;
    int count = 0;
    bool shape_is_tuple = shape && value_is_tuple(shape, &shape_count);
    bool is_tuple = value && value_is_tuple(value, &count);
    if (!shape_is_tuple) {
        bool changes = value && value_is_tuple(value, &count);
        leaves[(*next)++] = !value    ? undefined_value(lowering)
                            : changes ? lowering_silent(lowering, "a tuple that changes its length")
                                      : value;
        return;
    }
    for (int i = 0; i < shape_count; i++) {
        Value *item = is_tuple && count == shape_count ? tuple_item(lowering, value, i) : NULL;
        leaves_match(lowering, shape->op->operands[i], item, leaves, next);
    }
}

// --- What a loop carries

/// Text, types and functions stay what they are: only values that exist at run time are carried.
static bool leaf_is_fixed(const Value *value) {
    if (!value) return false;
    switch (value->type.kind) {
    case TYPE_DTYPE:
    case TYPE_STRING:
    case TYPE_FUNCTION: return true;
    default: return false;
    }
}

static LoopCarry carry_find(Lowering *lowering, const LoweredLoop *loop) {
    LoopCarry carry = {0};
    Map names = map_new(lowering->arena);
    names_assigned(lowering, loop->node, &names);
    for (int i = 0; i < names.count; i++) {
        Str name = names.entries[i].key;
        Value *initial = variable_get(lowering, name);
        if (!initial && loop->code != OP_STATIC_FOR) continue;
        if (leaf_is_fixed(initial)) continue;
        CarriedVariable variable = {.slot = variable_slot(lowering, name),
                                    .initial = initial,
                                    .first_leaf = carry.initials.count,
                                    .leaf_count = leaves_count(initial)};
        leaves_add(lowering, &carry, initial);
        LIST_PUSH(lowering->arena, &carry.variables, variable);
    }
    carry.types = ARENA_ARRAY(lowering->arena, Type, carry.initials.count + 1);
    for (int i = 0; i < carry.initials.count; i++) {
        const Value *initial = carry.initials.items[i];
        carry.types[i] = initial ? type_at_runtime(initial) : (Type){.kind = TYPE_NONE};
        if (carry.types[i].kind == TYPE_NUMBER) carry.types[i].is_constexpr = false;
    }
    return carry;
}

static const char *leaf_name(Lowering *lowering, const CarriedVariable *variable) {
    if (variable->leaf_count != 1) return NULL;
    return str_dup(lowering->arena, lowering->frame->names.items[variable->slot]);
}

/// Adds one argument per leaf to a region and makes them the variables' values there.
static void carry_enter(Lowering *lowering, const LoopCarry *carry, Region *region) {
    for (LIST_EACH(int, i, carry->variables)) {
        const CarriedVariable *variable = &carry->variables.items[i];
        Value **leaves = ARENA_ARRAY(lowering->arena, Value *, variable->leaf_count);
        for (int j = 0; j < variable->leaf_count; j++) {
            int leaf = variable->first_leaf + j;
            leaves[j] = region_add_argument(lowering->builder.function, region, carry->types[leaf],
                                            leaf_name(lowering, variable));
            const Value *initial = carry->initials.items[leaf];
            leaves[j]->range = initial ? initial->range : lowering->builder.range;
        }
        int next = 0;
        Value *value = leaves_rebuild(lowering, variable->initial, leaves, &next);
        bool is_undefined =
            !variable->initial && carry->types[variable->first_leaf].kind == TYPE_NONE;
        variable_set(lowering, lowering->frame->names.items[variable->slot],
                     is_undefined ? NULL : value);
    }
}

/// The leaves that the variables have now, as operands of a yield.
static Value **carry_collect(Lowering *lowering, const LoopCarry *carry) {
    Value **leaves = ARENA_ARRAY(lowering->arena, Value *, carry->initials.count + 1);
    for (LIST_EACH(int, i, carry->variables)) {
        const CarriedVariable *variable = &carry->variables.items[i];
        Value *value = variable_get(lowering, lowering->frame->names.items[variable->slot]);
        int next = variable->first_leaf;
        leaves_match(lowering, variable->initial, value, leaves, &next);
    }
    return leaves;
}

/// Results of the loop become the variables' values after it.
static void carry_leave(Lowering *lowering, const LoopCarry *carry, Op *op) {
    for (LIST_EACH(int, i, carry->variables)) {
        const CarriedVariable *variable = &carry->variables.items[i];
        Value **leaves = ARENA_ARRAY(lowering->arena, Value *, variable->leaf_count);
        for (int j = 0; j < variable->leaf_count; j++) {
            leaves[j] = op_append_result(lowering->builder.function, op,
                                         carry->types[variable->first_leaf + j]);
            leaves[j]->name = leaf_name(lowering, variable);
        }
        int next = 0;
        Value *value = leaves_rebuild(lowering, variable->initial, leaves, &next);
        variable_set(lowering, lowering->frame->names.items[variable->slot], value);
    }
}

/// Whether the types a body was lowered with must give way to wider ones; updates them.
static bool carry_widen(Lowering *lowering, LoopCarry *carry, const LoweredLoop *loop,
                        Value *const *yields) {
    bool changed = false;
    for (int i = 0; i < carry->initials.count; i++) {
        Type old = carry->types[i];
        Type new = type_at_runtime(yields[i]);
        if (new.kind == TYPE_NUMBER) new.is_constexpr = false;
        bool is_open = old.kind == TYPE_NONE || old.kind == TYPE_UNKNOWN;
        if (!is_open && loop->code != OP_STATIC_FOR) continue;
        Type joined = old.kind == TYPE_UNKNOWN ? new : type_join(lowering->arena, old, new);
        if (type_equal(joined, old)) continue;
        carry->types[i] = joined;
        changed = true;
    }
    return changed;
}

// --- Tiles that get axes of length 1 on the way

/// How many axes of length 1 the tile has in front of those of `old`; 0: it is no such tile.
static int axes_in_front(const Type *old, const Type *new) {
    int more = new->rank - old->rank;
    int64_t length;
    if (old->kind != TYPE_NUMBER || new->kind != TYPE_NUMBER || old->rank == 0 || more <= 0)
        return 0;
    for (int i = 0; i < new->rank; i++) {
        bool is_same = i < more ? poly_is_constant(new->dims[i], &length) && length == 1
                                : poly_equal(new->dims[i], old->dims[i - more]);
        if (!is_same) return 0;
    }
    return more;
}

/// Values of which a loop has tiles without the axes in front in its first iteration.
typedef struct RaisedUses {
    bool *values;  // by id
    int rank;
    bool is_asked;  // for axes
} RaisedUses;

/// Element by element beside a tile that has the axes, or alone: then what it gives is followed.
static bool visit_raised(void *context, Op *op) {
    RaisedUses *uses = context;
    bool reads = false, is_beside = false;
    for (int i = 0; i < op->operand_count; i++) {
        const Value *operand = op->operands[i];
        bool is_raised = operand && uses->values[operand->id];
        reads = reads || is_raised;
        is_beside = is_beside || (operand && !is_raised && operand->type.rank >= uses->rank);
    }
    if (!reads) return true;
    OpShape shape = op_rows[op->code].shape;
    bool is_elementwise = (shape == SHAPE_SAME || shape == SHAPE_BROADCAST) &&
                          op->region_count == 0 && op->result_count == 1 &&
                          !(op_rows[op->code].effects & (EFFECT_READS | EFFECT_WRITES));
    if (!is_elementwise) uses->is_asked = true;
    if (is_elementwise && !is_beside) uses->values[op->results[0]->id] = true;
    return !uses->is_asked;
}

/// A loop that is unrolled may carry a row that becomes a tile of one row in its first iteration, where it meets such tiles. It is one in
/// front of the loop, too, where nothing in the loop asks for its axes.
static bool carry_raise(Lowering *lowering, LoopCarry *carry, const Op *op, Value *const *yields) {
    const Region *body = op->regions[0];
    bool changed = false;
    for (int i = 0; i < carry->initials.count; i++) {
        Type new = type_at_runtime(yields[i]);
        int more = carry->initials.items[i] ? axes_in_front(&carry->types[i], &new) : 0;
        if (!more) continue;
        int values = lowering->builder.function->value_count;
        RaisedUses uses = {.values = ARENA_ARRAY(lowering->arena, bool, values + 1),
                           .rank = new.rank};
        uses.values[body->arguments[i + 1]->id] = true;
        region_walk(body, visit_raised, &uses);
        if (uses.is_asked) continue;
        for (int axis = 0; axis < more; axis++)
            carry->initials.items[i] =
                build_binary(&lowering->builder, OP_EXPAND_DIMS, carry->initials.items[i],
                             build_int(&lowering->builder, 0));
        carry->types[i].rank = new.rank;
        carry->types[i].dims = new.dims;
        changed = true;
    }
    return changed;
}

// --- Loops that stay loops

static Type induction_type(const LoweredLoop *loop) {
    Type type = {.kind = TYPE_NUMBER, .element = dtype_of(DTYPE_INT32)};
    type.is_constexpr = loop->code == OP_STATIC_FOR;
    for (int i = 0; i < 3; i++) {
        DType element = type_at_runtime(loop->bounds[i]).element;
        if (dtype_bits(element.code) == 64 && dtype_is_integer(element)) type.element = element;
    }
    return type;
}

/// Lowers the loop with the carried types as they are; returns what the body yields.
static Value **loop_attempt(Lowering *lowering, const LoweredLoop *loop, const LoopCarry *carry,
                            Op **made) {
    Function *function = lowering->builder.function;
    LIST(Value *) operands = {0};
    if (loop->code != OP_WHILE)
        for (int i = 0; i < 3; i++) LIST_PUSH(lowering->arena, &operands, loop->bounds[i]);
    for (int i = 0; i < carry->initials.count; i++) {
        Value *initial = carry->initials.items[i];
        if (!initial) initial = undefined_value(lowering);
        LIST_PUSH(lowering->arena, &operands, initial);
    }
    Op *op = op_append(&lowering->builder, loop->code, operands.items, operands.count, 0);
    op->keywords = loop->keywords.items;
    op->keyword_count = loop->keywords.count;
    Builder outside = lowering->builder;
    lowering->frame->loops++;
    if (loop->code == OP_WHILE) {
        Region *region = op_add_region(&outside, op);
        lowering->builder.region = region;
        lowering->builder.before = NULL;
        carry_enter(lowering, carry, region);
        Value *condition = lower_value(lowering, node_field(loop->node, "condition"));
        op_append(&lowering->builder, OP_CONDITION, &condition, 1, 0);
    }
    Region *region = op_add_region(&outside, op);
    lowering->builder.region = region;
    lowering->builder.before = NULL;
    Value *induction = NULL;
    if (loop->code != OP_WHILE)
        induction = region_add_argument(function, region, induction_type(loop), NULL);
    carry_enter(lowering, carry, region);
    if (induction) {
        induction->range = node_range(lowering->frame->source, loop->target);
        if (node_kind(loop->target) == SYNTAX_IDENTIFIER)
            induction->name = str_dup(lowering->arena, lowering_text(lowering, loop->target));
        lower_assign(lowering, loop->target, induction);
    }
    lower_block(lowering, loop->body);
    Value **yields = carry_collect(lowering, carry);
    op_append(&lowering->builder, OP_YIELD, yields, carry->initials.count, 0);
    lowering->frame->loops--;
    lowering->builder = outside;
    *made = op;
    return yields;
}

static bool carry_is_open(const LoopCarry *carry) {
    for (int i = 0; i < carry->initials.count; i++)
        if (carry->types[i].kind == TYPE_NONE || carry->types[i].kind == TYPE_UNKNOWN) return true;
    return false;
}

/// Finds the types that are carried, by trying in silence. Returns the loop as tried last where all is silent: it would be
/// made again just so. Else NULL.
static Op *loop_try(Lowering *lowering, const LoweredLoop *loop, LoopCarry *carry,
                    Variables *before) {
    Diagnostics *diagnostics = lowering->diagnostics;
    struct Diagnostics *inner = lowering->builder.diagnostics;
    int unrepeated = lowering->unrepeated;
    bool is_final = false;
    Op *op = NULL;
    lowering->diagnostics = NULL;
    lowering->builder.diagnostics = NULL;
    lowering->attempts++;
    for (int i = 0; i < 2; i++) {
        Value **yields = loop_attempt(lowering, loop, carry, &op);
        bool raised =
            loop->code == OP_STATIC_FOR && i == 0 && carry_raise(lowering, carry, op, yields);
        bool widened = carry_widen(lowering, carry, loop, yields) || raised;
        is_final = !widened && !diagnostics && !inner && lowering->unrepeated == unrepeated;
        if (!is_final) op_remove(op);
        lowering->frame->variables = *before;
        *before = variables_copy(lowering);
        if (!widened || lowering->stopped) break;
    }
    lowering->attempts--;
    lowering->unrepeated = unrepeated;
    lowering->diagnostics = diagnostics;
    lowering->builder.diagnostics = inner;
    return is_final ? op : NULL;
}

/// Those of the functions that it is inlined into, too.
static int loops_around(const Lowering *lowering) {
    int count = 0;
    for (const LoweringFrame *frame = lowering->frame; frame; frame = frame->caller)
        count += frame->loops;
    return count;
}

static void loop_lower(Lowering *lowering, const LoweredLoop *loop) {
    if (lowering->stopped) return;
    if (loops_around(lowering) >= LOOPS_MOST_NESTED) {
        lowering_report(lowering, DIAGNOSTIC_LIMIT_REACHED, loop->node,
                        "Loops are nested more than %d levels deep; the analysis stops here.",
                        LOOPS_MOST_NESTED);
        lowering->stopped = true;
        return;
    }
    LoopCarry carry = carry_find(lowering, loop);
    Variables before = variables_copy(lowering);
    Op *op = NULL;
    if (carry_is_open(&carry) || loop->code == OP_STATIC_FOR) {
        if (lowering->attempts < MAX_ATTEMPTS)
            op = loop_try(lowering, loop, &carry, &before);
        else
            lowering->unrepeated++;
    }
    if (!op) loop_attempt(lowering, loop, &carry, &op);
    lowering->frame->variables = before;
    carry_leave(lowering, &carry, op);
}

// --- Unrolled loops

static void loop_unroll(Lowering *lowering, const LoweredLoop *loop, Value *const *items,
                        int count) {
    lowering->frame->loops++;
    for (int i = 0; i < count && !lowering_over(lowering, loop->node); i++) {
        lower_assign(lowering, loop->target, items[i]);
        lower_block(lowering, loop->body);
    }
    lowering->frame->loops--;
}

static void loop_unroll_range(Lowering *lowering, const LoweredLoop *loop, const int64_t *bounds) {
    uint64_t count = range_count(bounds[0], bounds[1], bounds[2]);
    for (uint64_t i = 0; i < count && !lowering->stopped; i++) {
        Value *item = build_int(&lowering->builder, range_item(bounds[0], bounds[2], i));
        loop_unroll(lowering, loop, &item, 1);
    }
}

typedef struct IndexSearch {
    const Lowering *lowering;
    Str variable;
    bool found;
} IndexSearch;

/// Finds `items[i]` of a tuple: such a body has no meaning for an `i` that is not known.
static bool visit_index(void *context, SyntaxNode node) {
    IndexSearch *search = context;
    if (node_kind(node) == SYNTAX_SUBSCRIPT) {
        SyntaxNode base = node_field(node, "value");
        LoweringFrame *frame = search->lowering->frame;
        intptr_t slot = node_kind(base) == SYNTAX_IDENTIFIER
                            ? (intptr_t)map_get(&frame->slots, node_text(frame->source, base))
                            : 0;
        const Value *value =
            slot && slot <= frame->variables.count ? frame->variables.values[slot - 1] : NULL;
        if (value && value->type.kind == TYPE_TUPLE) search->found = true;
    }
    return !search->found;
}

static bool loop_needs_unrolling(const Lowering *lowering, const LoweredLoop *loop) {
    if (lowering->global_depth) return true;
    if (lowering->options && lowering->options->unroll_static) return true;
    IndexSearch search = {lowering, lowering_text(lowering, loop->target), false};
    syntax_walk(loop->body, visit_index, &search);
    return search.found;
}

static bool loop_try_unroll(Lowering *lowering, const LoweredLoop *loop) {
    int64_t bounds[3];
    for (int i = 0; i < 3; i++)
        if (!value_is_int(loop->bounds[i], &bounds[i])) return false;
    if (bounds[2] == 0) return false;
    uint64_t trips = range_count(bounds[0], bounds[1], bounds[2]);
    if (trips > UNROLL_IN_REASON)
        lowering_report(lowering, DIAGNOSTIC_LIMIT_REACHED, loop->node,
                        "Triton unrolls this loop %llu times, which takes it very long.",
                        (unsigned long long)trips);
    if (!loop_needs_unrolling(lowering, loop)) return false;
    bool forced = lowering->global_depth || (lowering->options && lowering->options->unroll_static);
    if (!forced && trips > UNROLL_IN_ANALYSIS) return false;
    loop_unroll_range(lowering, loop, bounds);
    return true;
}

// --- Statements

/// OP_FOR, OP_STATIC_FOR, or OP_COUNT when `callee` is none of the ranges.
static OpCode range_code(const Lowering *lowering, Entity callee, SyntaxNode function) {
    Str name;
    if (callee.kind == ENTITY_PYTHON && str_is(callee.name, "range")) return OP_FOR;
    // A star of a file that was not found brings along no `range` but Triton's, which is Python's.
    if (callee.kind == ENTITY_SCOPE && callee.entry.kind == SCOPE_OPAQUE &&
        str_is(lowering_text(lowering, function), "range"))
        return OP_FOR;
    if (callee.kind != ENTITY_SCOPE || callee.entry.kind != SCOPE_EXTERNAL) return OP_COUNT;
    if (!scope_language_name(callee.entry.dotted, &name)) return OP_COUNT;
    if (str_is(name, "range")) return OP_FOR;
    return str_is(name, "static_range") ? OP_STATIC_FOR : OP_COUNT;
}

static void range_arguments(Lowering *lowering, LoweredLoop *loop, SyntaxNode list) {
    Value *given[3] = {NULL, NULL, NULL};
    SyntaxNode *arguments;
    int count = node_children(lowering->arena, list, &arguments);
    int positional = 0;
    for (int i = 0; i < count; i++) {
        if (node_kind(arguments[i]) != SYNTAX_KEYWORD_ARGUMENT) {
            Value *value = lower_value(lowering, arguments[i]);
            if (positional < 3) given[positional++] = value;
            continue;
        }
        Str name = lowering_text(lowering, node_field(arguments[i], "name"));
        Value *value = lower_value(lowering, node_field(arguments[i], "value"));
        int index = str_is(name, "arg1")   ? 0
                    : str_is(name, "arg2") ? 1
                    : str_is(name, "step") ? 2
                                           : -1;
        if (index >= 0)
            given[index] = value;
        else
            LIST_PUSH(lowering->arena, &loop->keywords,
                      (Keyword){str_dup(lowering->arena, name), value});
        if (op_parameter_index(loop->code, name) < 0)
            lowering_report_keyword(lowering, loop->code, op_rows[loop->code].name,
                                    str_dup(lowering->arena, name), (Str){0}, arguments[i]);
    }
    bool has_end = given[1] && !value_is_none(given[1]);
    Value *first = given[0] ? given[0] : lowering_silent(lowering, "a range without bounds");
    loop->bounds[0] = has_end ? first : build_int(&lowering->builder, 0);
    loop->bounds[1] = has_end ? given[1] : first;
    loop->bounds[2] =
        given[2] && !value_is_none(given[2]) ? given[2] : build_int(&lowering->builder, 1);
}

static void lower_for_range(Lowering *lowering, LoweredLoop *loop, SyntaxNode call) {
    Range former = lowering_at(lowering, call);
    range_arguments(lowering, loop, node_field(call, "arguments"));
    bool may_unroll = loop->code == OP_STATIC_FOR || lowering->global_depth;
    if (!may_unroll || !loop_try_unroll(lowering, loop)) loop_lower(lowering, loop);
    lowering->builder.range = former;
}

void lower_for(Lowering *lowering, SyntaxNode node) {
    LoweredLoop loop = {.node = node,
                        .body = node_field(node, "body"),
                        .target = node_field(node, "left"),
                        .code = OP_COUNT};
    SyntaxNode iterated = node_field(node, "right");
    if (!node_is_null(node_field(node, "alternative")))
        lowering_report(lowering, DIAGNOSTIC_UNSUPPORTED_PYTHON, node_field(node, "alternative"),
                        "Triton cannot compile `else` after a loop.");
    if (node_kind(iterated) == SYNTAX_CALL) {
        SyntaxNode function = node_field(iterated, "function");
        loop.code = range_code(lowering, lower_entity(lowering, function), function);
    }
    if (loop.code != OP_COUNT) {
        lower_for_range(lowering, &loop, iterated);
        return;
    }
    if (node_kind(iterated) != SYNTAX_CALL && !lowering->global_depth && lowering->frame->module)
        lowering_report(lowering, DIAGNOSTIC_UNSUPPORTED_PYTHON, iterated,
                        "Triton loops over `range`, `tl.range` and `tl.static_range` only.");
    Value **items;
    int count;
    if (lower_iterable(lowering, iterated, &items, &count)) {
        loop_unroll(lowering, &loop, items, count);
        return;
    }
    // Lower the body once all the same, so that mistakes in it are seen.
    lower_assign(lowering, loop.target,
                 lowering_unknown(lowering, iterated, "It is not known what this loop runs over."));
    loop_unroll(lowering, &loop, (Value *[]){lowering_silent(lowering, "a loop item")}, 1);
}

void lower_while(Lowering *lowering, SyntaxNode node) {
    LoweredLoop loop = {.node = node, .body = node_field(node, "body"), .code = OP_WHILE};
    bool truth;
    SyntaxNode condition = node_field(node, "condition");
    SyntaxKind kind = node_kind(condition);
    if (kind == SYNTAX_FALSE || kind == SYNTAX_NONE) return;
    if (kind == SYNTAX_IDENTIFIER) {
        Value *value = lower_value(lowering, condition);
        if (value_truth(value, &truth) && !truth) return;
    }
    Range former = lowering_at(lowering, node);
    loop_lower(lowering, &loop);
    lowering->builder.range = former;
}
