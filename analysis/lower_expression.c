// Expressions: names, operators, comparisons, tuples and comprehensions. Never gives NULL.
#include "analysis/lowering.h"

enum { ITERABLE_LIMIT = 4096 };

bool value_is_tuple(const Value *value, int *count) {
    if (!value || !value->op || value->op->code != OP_TUPLE) return false;
    *count = value->op->operand_count;
    return true;
}

/// How many values a tuple holds in all, tuples in it included; counts no further than `limit`.
static int leaves_within(const Value *value, int limit) {
    int count;
    if (!value_is_tuple(value, &count)) return 1;
    int total = 0;
    for (int i = 0; i < count && total <= limit; i++)
        total += leaves_within(value->op->operands[i], limit - total);
    return total;
}

static Value *tuple_make(Lowering *lowering, Value *const *items, int count, SyntaxNode node) {
    int total = 0;
    for (int i = 0; i < count && total <= ITERABLE_LIMIT; i++)
        total += leaves_within(items[i], ITERABLE_LIMIT - total);
    if (total <= ITERABLE_LIMIT) return build_tuple(&lowering->builder, items, count);
    lowering_report(lowering, DIAGNOSTIC_LIMIT_REACHED, node,
                    "This tuple has more than %d values; the analysis does not follow it.",
                    ITERABLE_LIMIT);
    return lowering_silent(lowering, "a tuple too large to follow");
}

Value *tuple_item(Lowering *lowering, Value *tuple, int index) {
    (void)lowering;
    return tuple->op->operands[index];
}

// --- Operators

typedef struct OperatorRow {
    const char *symbol;
    OpCode code;
} OperatorRow;

static const OperatorRow binary_operators[] = {
    {"+", OP_ADD},        {"-", OP_SUB},  {"*", OP_MUL}, {"/", OP_DIV}, {"//", OP_FLOORDIV},
    {"%", OP_MOD},        {"**", OP_POW}, {"&", OP_AND}, {"|", OP_OR},  {"^", OP_XOR},
    {"<<", OP_SHL},       {">>", OP_SHR}, {"==", OP_EQ}, {"!=", OP_NE}, {"<", OP_LT},
    {"<=", OP_LE},        {">", OP_GT},   {">=", OP_GE}, {"@", OP_DOT}, {"and", OP_LOGICAL_AND},
    {"or", OP_LOGICAL_OR}};

static OpCode binary_code(Str symbol) {
    for (size_t i = 0; i < sizeof binary_operators / sizeof *binary_operators; i++)
        if (str_is(symbol, binary_operators[i].symbol)) return binary_operators[i].code;
    return OP_COUNT;
}

/// `a + b` and `a * n` of tuples; NULL when they are none.
static Value *tuple_operator(Lowering *lowering, OpCode code, Value *left, Value *right,
                             SyntaxNode node) {
    int left_count;
    int right_count;
    if (!value_is_tuple(left, &left_count)) return NULL;
    LIST(Value *) items = {0};
    int64_t times = 1;
    bool repeats = code == OP_MUL && value_is_int(right, &times) && times <= ITERABLE_LIMIT;
    if (repeats && times * left_count <= ITERABLE_LIMIT) {
        for (int64_t i = 0; i < times; i++)
            for (int j = 0; j < left_count; j++)
                LIST_PUSH(lowering->arena, &items, tuple_item(lowering, left, j));
        return tuple_make(lowering, items.items, items.count, node);
    }
    if (code != OP_ADD || !value_is_tuple(right, &right_count)) return NULL;
    for (int j = 0; j < left_count; j++)
        LIST_PUSH(lowering->arena, &items, tuple_item(lowering, left, j));
    for (int j = 0; j < right_count; j++)
        LIST_PUSH(lowering->arena, &items, tuple_item(lowering, right, j));
    return tuple_make(lowering, items.items, items.count, node);
}

/// Comparison of tuples item by item, when all of it is known; NULL otherwise.
static Value *tuple_compare(Lowering *lowering, OpCode code, Value *left, Value *right) {
    int left_count;
    int right_count;
    bool both = value_is_tuple(left, &left_count) && value_is_tuple(right, &right_count);
    if (both && code >= OP_LT && code <= OP_GE) {
        // The first items that differ decide; (3, 9) against (3, 9, 0) is decided by length.
        for (int i = 0; i < left_count && i < right_count; i++) {
            int64_t a;
            int64_t b;
            if (!value_is_int(tuple_item(lowering, left, i), &a) ||
                !value_is_int(tuple_item(lowering, right, i), &b))
                return NULL;
            if (a != b)
                return build_bool(&lowering->builder, (a < b) == (code == OP_LT || code == OP_LE));
        }
        Value *lengths[] = {build_int(&lowering->builder, left_count),
                            build_int(&lowering->builder, right_count)};
        return build(&lowering->builder, code, lengths, 2);
    }
    if (!both || (code != OP_EQ && code != OP_NE)) return NULL;
    bool equal = left_count == right_count;
    for (int i = 0; equal && i < left_count; i++) {
        Value *same = lower_operator(lowering, STR("=="), tuple_item(lowering, left, i),
                                     tuple_item(lowering, right, i), (SyntaxNode){0});
        if (!value_truth(same, &equal)) return NULL;
    }
    return build_bool(&lowering->builder, equal == (code == OP_EQ));
}

static Value *text_operator(Lowering *lowering, OpCode code, const Value *left,
                            const Value *right) {
    const Constant *a = left->constant;
    const Constant *b = right->constant;
    if (code != OP_ADD || !a || !b || a->kind != CONSTANT_STRING || b->kind != CONSTANT_STRING)
        return NULL;
    if (a->string.size + b->string.size > TEXT_LIMIT)
        return lowering_opaque(lowering, "a very long text");
    return build_string(&lowering->builder, arena_printf(lowering->arena, "%.*s%.*s",
                                                         STR_ARGS(a->string), STR_ARGS(b->string)));
}

Value *lower_operator(Lowering *lowering, Str symbol, Value *left, Value *right, SyntaxNode node) {
    OpCode code = binary_code(symbol);
    if (code == OP_COUNT)
        return lowering_unknown(lowering, node, "The operator `%.*s` is not understood.",
                                STR_ARGS(symbol));
    Value *special = tuple_operator(lowering, code, left, right, node);
    if (!special) special = tuple_compare(lowering, code, left, right);
    if (!special) special = text_operator(lowering, code, left, right);
    if (special) return special;
    return build_binary(&lowering->builder, code, left, right);
}

/// `s = 0.5` makes a float32 tensor of no dimensions: beside half precision it widens, which a bare 0.5 does not.
Value *lower_named_number(Lowering *lowering, SyntaxNode node, Value *value, const Value *beside) {
    const Type other = beside->type;
    bool is_scalar = node_kind(node) == SYNTAX_IDENTIFIER && value->constant &&
                     value->constant->kind == CONSTANT_FLOAT &&
                     map_get(&lowering->frame->scalars, lowering_text(lowering, node));
    bool is_wide = other.element.code == DTYPE_FLOAT32 || other.element.code == DTYPE_FLOAT64;
    if (!is_scalar || other.kind != TYPE_NUMBER || other.is_constexpr || is_wide ||
        !dtype_is_float(other.element))
        return value;
    Builder *b = &lowering->builder;
    Value *tensor = build_ternary(b, OP_FULL, build_tuple(b, NULL, 0), value,
                                  build_dtype(b, dtype_of(DTYPE_FLOAT32)));
    if (!tensor->name) tensor->name = str_dup(lowering->arena, lowering_text(lowering, node));
    return tensor;
}

static Value *lower_binary(Lowering *lowering, SyntaxNode node) {
    SyntaxNode first = node_field(node, "left"), second = node_field(node, "right");
    Value *left = lower_value(lowering, first);
    Value *right = lower_value(lowering, second);
    lowering_at(lowering, node);
    left = lower_named_number(lowering, first, left, right);
    right = lower_named_number(lowering, second, right, left);
    return lower_operator(lowering, lowering_text(lowering, node_field(node, "operator")), left,
                          right, node);
}

static Value *lower_unary(Lowering *lowering, SyntaxNode node) {
    Value *value = lower_value(lowering, node_field(node, "argument"));
    Str symbol = lowering_text(lowering, node_field(node, "operator"));
    lowering_at(lowering, node);
    if (str_is(symbol, "+")) return value;
    return build_unary(&lowering->builder, str_is(symbol, "~") ? OP_INVERT : OP_NEG, value);
}

static Value *lower_not(Lowering *lowering, SyntaxNode node) {
    Value *value = lower_value(lowering, node_field(node, "argument"));
    bool truth;
    lowering_at(lowering, node);
    if (value_truth(value, &truth)) return build_bool(&lowering->builder, !truth);
    return build_unary(&lowering->builder, OP_LOGICAL_NOT, value);
}

/// `and` and `or` look at the right side only when the left one does not decide.
static Value *lower_boolean(Lowering *lowering, SyntaxNode node) {
    Str symbol = lowering_text(lowering, node_field(node, "operator"));
    bool is_and = str_is(symbol, "and");
    Value *left = lower_value(lowering, node_field(node, "left"));
    bool truth;
    if (value_truth(left, &truth))
        return truth == is_and ? lower_value(lowering, node_field(node, "right")) : left;
    Value *right = lower_value(lowering, node_field(node, "right"));
    lowering_at(lowering, node);
    // What decides on the right decides for both where only truth matters.
    if (left->type.is_constexpr && value_truth(right, &truth) && truth != is_and &&
        right->constant && right->constant->kind == CONSTANT_BOOL)
        return right;
    return build_binary(&lowering->builder, is_and ? OP_LOGICAL_AND : OP_LOGICAL_OR, left, right);
}

// --- Comparisons

/// Made by an operation: no operation gives None.
static bool is_computed(const Value *value) {
    return value->op && op_rows[value->op->code].kind != KIND_STRUCTURAL;
}

static Value *lower_is(Lowering *lowering, Value *left, Value *right, bool negated,
                       SyntaxNode node) {
    Value *result;
    if ((value_is_none(right) && is_computed(left)) || (value_is_none(left) && is_computed(right)))
        result = build_bool(&lowering->builder, false);
    else if (value_is_none(right))
        result = build_unary(&lowering->builder, OP_IS_NONE, left);
    else if (value_is_none(left))
        result = build_unary(&lowering->builder, OP_IS_NONE, right);
    else if (left == right)
        result = build_bool(&lowering->builder, true);
    else
        result = lower_operator(lowering, STR("=="), left, right, node);
    bool truth;
    if (!negated) return result;
    if (value_truth(result, &truth)) return build_bool(&lowering->builder, !truth);
    return build_unary(&lowering->builder, OP_LOGICAL_NOT, result);
}

static Value *lower_in(Lowering *lowering, Value *left, Value *right, bool negated,
                       SyntaxNode node) {
    int count;
    if (!lowering->global_depth && lowering->frame->module)
        lowering_report(lowering, DIAGNOSTIC_UNSUPPORTED_PYTHON, node,
                        "Triton cannot compile `in`; compare with each value.");
    if (!value_is_tuple(right, &count))
        return lowering_unknown(lowering, node, "`in` is understood for tuples only.");
    Value *result = build_bool(&lowering->builder, false);
    for (int i = 0; i < count; i++) {
        Value *same =
            lower_operator(lowering, STR("=="), left, tuple_item(lowering, right, i), node);
        bool truth;
        if (value_truth(same, &truth)) {
            if (!truth) continue;
            return build_bool(&lowering->builder, !negated);
        }
        result = value_truth(result, &truth)
                     ? same
                     : build_binary(&lowering->builder, OP_LOGICAL_OR, result, same);
    }
    bool truth;
    if (!negated) return result;
    if (value_truth(result, &truth)) return build_bool(&lowering->builder, !truth);
    return build_unary(&lowering->builder, OP_LOGICAL_NOT, result);
}

static Value *lower_compare(Lowering *lowering, Str symbol, Value *left, Value *right,
                            SyntaxNode node) {
    bool negated = text_contains(symbol, "not");
    if (str_starts(symbol, "is")) return lower_is(lowering, left, right, negated, node);
    if (text_contains(symbol, "in")) return lower_in(lowering, left, right, negated, node);
    return lower_operator(lowering, symbol, left, right, node);
}

static Value *lower_comparison(Lowering *lowering, SyntaxNode node) {
    // Operands and operators alternate; `is not` is two tokens, or one, by grammar version.
    Value *result = NULL;
    Value *left = NULL;
    Str symbol = {"", 0};
    SyntaxNode *children;
    int count = node_all_children(lowering->arena, node, &children);
    for (int i = 0; i < count; i++) {
        SyntaxNode child = children[i];
        SyntaxKind kind = node_kind(child);
        if (kind == SYNTAX_COMMENT) continue;
        Str text = lowering_text(lowering, child);
        bool is_operator = str_is(text, node_kind_name(child)) && kind == SYNTAX_OTHER;
        if (is_operator) {
            symbol = symbol.size ? (Str){symbol.data, (size_t)(text.data + text.size - symbol.data)}
                                 : text;
            continue;
        }
        Value *right = lower_value(lowering, child);
        if (left && symbol.size) {
            Range former = lowering_at(lowering, node);
            Value *one = lower_compare(lowering, symbol, left, right, node);
            result = result ? build_binary(&lowering->builder, OP_LOGICAL_AND, result, one) : one;
            lowering->builder.range = former;
        }
        left = right;
        symbol = (Str){"", 0};
    }
    return result ? result : lowering_silent(lowering, "an unfinished comparison");
}

// --- Tuples and comprehensions

static void items_add(Lowering *lowering, SyntaxNode node, Arguments *items) {
    SyntaxNode *children;
    int count = node_children(lowering->arena, node, &children);
    for (int i = 0; i < count; i++) {
        SyntaxKind kind = node_kind(children[i]);
        if (kind != SYNTAX_LIST_SPLAT && kind != SYNTAX_PARENTHESIZED_LIST_SPLAT) {
            LIST_PUSH(lowering->arena, &items->positional, lower_value(lowering, children[i]));
            continue;
        }
        Value *splat = lower_value(lowering, node_child(children[i], 0));
        int inner;
        if (!value_is_tuple(splat, &inner)) {
            lowering_unknown(lowering, children[i], "It is not known what is unpacked here.");
            items->is_open = true;
            continue;
        }
        for (int j = 0; j < inner; j++)
            LIST_PUSH(lowering->arena, &items->positional, tuple_item(lowering, splat, j));
    }
}

static Value *lower_tuple(Lowering *lowering, SyntaxNode node) {
    Arguments items = {0};
    items_add(lowering, node, &items);
    lowering_at(lowering, node);
    if (items.is_open) return lowering_silent(lowering, "a tuple of unknown length");
    return tuple_make(lowering, items.positional.items, items.positional.count, node);
}

bool lower_iterable(Lowering *lowering, SyntaxNode node, Value ***items, int *count) {
    if (node_kind(node) == SYNTAX_CALL) {
        Entity callee = lower_entity(lowering, node_field(node, "function"));
        Str language;
        bool is_static = callee.kind == ENTITY_SCOPE && callee.entry.kind == SCOPE_EXTERNAL &&
                         scope_language_name(callee.entry.dotted, &language) &&
                         str_is(language, "static_range");
        if (is_static || (callee.kind == ENTITY_PYTHON && str_is(callee.name, "range"))) {
            int64_t bounds[3] = {0, 0, 1};
            SyntaxNode list = node_field(node, "arguments");
            int given = (int)node_child_count(list);
            for (int i = 0; i < given && i < 3; i++)
                if (!value_is_int(lower_value(lowering, node_child(list, (uint32_t)i)), &bounds[i]))
                    return false;
            if (given == 1) bounds[1] = bounds[0];
            if (given == 1) bounds[0] = 0;
            if (given == 0 || given > 3 || bounds[2] == 0) return false;
            LIST(Value *) list_items = {0};
            uint64_t length = range_count(bounds[0], bounds[1], bounds[2]);
            if (length > ITERABLE_LIMIT) return false;
            for (uint64_t i = 0; i < length; i++)
                LIST_PUSH(lowering->arena, &list_items,
                          build_int(&lowering->builder, range_item(bounds[0], bounds[2], i)));
            *items = list_items.items;
            *count = list_items.count;
            return true;
        }
    }
    Value *value = lower_value(lowering, node);
    if (!value_is_tuple(value, count)) return false;
    *items = value->op->operands;
    return true;
}

typedef struct Comprehension {
    SyntaxNode *clauses;
    int count;
    SyntaxNode body;
    Arguments items;
    bool failed;
} Comprehension;

static void comprehension_run(Lowering *lowering, Comprehension *all, int at) {
    if (all->failed || lowering_over(lowering, all->body)) return;
    if (at == all->count) {
        LIST_PUSH(lowering->arena, &all->items.positional, lower_value(lowering, all->body));
        return;
    }
    SyntaxNode clause = all->clauses[at];
    if (node_kind(clause) == SYNTAX_IF_CLAUSE) {
        bool truth;
        Value *condition = lower_value(lowering, node_child(clause, 0));
        if (!value_truth(condition, &truth))
            all->failed = true;
        else if (truth)
            comprehension_run(lowering, all, at + 1);
        return;
    }
    Value **items;
    int count;
    if (!lower_iterable(lowering, node_field(clause, "right"), &items, &count)) {
        all->failed = true;
        return;
    }
    for (int i = 0; i < count && !all->failed && !lowering->stopped; i++) {
        lower_assign(lowering, node_field(clause, "left"), items[i]);
        comprehension_run(lowering, all, at + 1);
    }
}

/// Triton's comprehensions are lists over one tuple.
static void report_comprehension(Lowering *lowering, SyntaxNode node, const Comprehension *all) {
    if (lowering->global_depth || !lowering->frame->module) return;
    int loops = 0;
    for (int i = 0; i < all->count; i++) loops += node_kind(all->clauses[i]) != SYNTAX_IF_CLAUSE;
    SyntaxNode iterated = node_field(all->clauses[0], "right");
    bool is_range = node_kind(iterated) == SYNTAX_CALL &&
                    str_ends(lowering_text(lowering, node_field(iterated, "function")), "range");
    const char *what = node_kind(node) == SYNTAX_GENERATOR ? "a generator"
                       : loops > 1                         ? "a comprehension of two loops"
                       : is_range ? "a comprehension over a range; write the numbers as a tuple"
                                  : NULL;
    if (what)
        lowering_report(lowering, DIAGNOSTIC_UNSUPPORTED_PYTHON, node, "Triton cannot compile %s.",
                        what);
}

static Value *lower_comprehension(Lowering *lowering, SyntaxNode node) {
    SyntaxNode *children;
    int count = node_children(lowering->arena, node, &children);
    if (count < 2) return lowering_silent(lowering, "an unfinished comprehension");
    Comprehension all = {
        .clauses = children + 1, .count = count - 1, .body = node_field(node, "body")};
    report_comprehension(lowering, node, &all);
    Variables before = variables_copy(lowering);
    comprehension_run(lowering, &all, 0);
    lowering->frame->variables = before;
    if (all.failed)
        return lowering_unknown(lowering, node,
                                "It is not known what this comprehension runs over.");
    return tuple_make(lowering, all.items.positional.items, all.items.positional.count, node);
}

// --- Names

/// Functions made inside functions see names of these that we do not follow.
static bool frame_is_nested(const Frame *frame) {
    if (!frame->definition) return false;
    int line;
    int column;
    source_position(frame->source, frame->definition->range.start, &line, &column);
    return column > 0;
}

static Entity entity_of_value(Value *value) {
    return (Entity){.kind = ENTITY_VALUE, .value = value};
}

static Entity rule_name(Lowering *lowering, Str name) {
    Entity entity = {.kind = ENTITY_SCOPE, .entry = {.kind = SCOPE_EXTERNAL}};
    if (str_is(name, "tl") || str_is(name, "libdevice") || str_is(name, "math"))
        entity.entry.dotted =
            str_is(name, "tl")
                ? STR("triton.language")
                : str_from(arena_printf(lowering->arena, "triton.language.%.*s", STR_ARGS(name)));
    else if (op_find(name) != OP_COUNT || dtype_from_name(name) != DTYPE_UNKNOWN)
        entity.entry.dotted =
            str_from(arena_printf(lowering->arena, "triton.language.%.*s", STR_ARGS(name)));
    else
        entity = (Entity){.kind = ENTITY_PYTHON, .name = name};
    return entity;
}

/// Python's functions that Triton does not have in kernels, and what to write there.
static void report_python_name(Lowering *lowering, SyntaxNode node, Str name) {
    if (lowering->global_depth || frame_is_nested(lowering->frame)) return;
    const char *instead;
    if (!python_builtin_is_missing(name, &instead)) return;
    lowering_report(lowering, DIAGNOSTIC_UNDEFINED_NAME, node,
                    "Triton does not know Python's `%.*s` in a kernel%s%s.", STR_ARGS(name),
                    instead ? "; use " : "", instead ? instead : "");
}

static Entity lower_name(Lowering *lowering, SyntaxNode node) {
    Str name = lowering_text(lowering, node);
    Value *value = variable_get(lowering, name);
    if (value) return entity_of_value(value);
    if (!lowering->frame->module) return rule_name(lowering, name);
    ScopeEntry entry = module_resolve(lowering->arena, lowering->frame->module, name);
    if (entry.kind != SCOPE_MISSING)
        return (Entity){.kind = ENTITY_SCOPE, .entry = entry, .name = name};
    if (python_builtin_exists(name)) {
        report_python_name(lowering, node, name);
        return (Entity){.kind = ENTITY_PYTHON, .name = name};
    }
    // The statements after an arm were taken into it, also into arms of no instance that there is.
    bool may_be_dead = lowering->split_depth > 0 && map_get(&lowering->frame->slots, name);
    lowering->unassigned += may_be_dead;
    if (!may_be_dead && !frame_is_nested(lowering->frame) &&
        !module_has_errors(lowering->frame->module))
        lowering_report(lowering, DIAGNOSTIC_UNDEFINED_NAME, node, "`%.*s` is not defined here.",
                        STR_ARGS(name));
    Range former = lowering_at(lowering, node);
    const char *why = frame_is_nested(lowering->frame)
                          ? "belongs to the function around the kernel: pass it as an argument"
                          : "is not defined";
    Value *unknown =
        lowering_opaque(lowering, arena_printf(lowering->arena, "`%.*s` %s", STR_ARGS(name), why));
    lowering->builder.range = former;
    return entity_of_value(unknown);
}

static void report_unknown_operation(Lowering *lowering, Str name, SyntaxNode node) {
    const char *instead = op_foreign(name);
    const char *nearest = lowering->diagnostics && !instead ? op_suggest(name) : NULL;
    Diagnostic *diagnostic =
        lowering_report(lowering, DIAGNOSTIC_UNKNOWN_OPERATION, node,
                        instead   ? "triton.language has no `%.*s`: there is `%s`."
                        : nearest ? "triton.language has no `%.*s`; did you mean `%s`?"
                                  : "triton.language has no `%.*s`.%s",
                        STR_ARGS(name),
                        instead   ? instead
                        : nearest ? nearest
                                  : "");
    // It may be of a release or a build that we do not know.
    bool is_misspelt = nearest && str_distance(name, str_from(nearest)) <= 2;
    if (diagnostic && !is_misspelt) diagnostic->severity = SEVERITY_WARNING;
}

static Value *scope_value(Lowering *lowering, Entity entity, SyntaxNode node) {
    ScopeEntry entry = entity.entry;
    switch (entry.kind) {
    case SCOPE_FUNCTION:
        return build_constant(
            &lowering->builder,
            (Constant){.kind = CONSTANT_FUNCTION, .function = entry.function, .op = OP_COUNT});
    case SCOPE_ASSIGNED: return global_value(lowering, entry, entity.name, node);
    case SCOPE_EXTERNAL: {
        Value *value = lower_external_value(lowering, entry.dotted);
        if (value) return value;
        Str language;
        if (!scope_language_name(entry.dotted, &language) || lowering->global_depth) break;
        if (language.size == 0) return lowering_silent(lowering, "triton.language itself");
        report_unknown_operation(lowering, language, node);
        return lowering_silent(lowering, "an unknown name of triton.language");
    }
    default: break;
    }
    return lowering_opaque(lowering,
                           arena_printf(lowering->arena, "the value of `%.*s` is not known",
                                        STR_ARGS(lowering_text(lowering, node))));
}

Value *entity_value(Lowering *lowering, Entity entity, SyntaxNode node) {
    switch (entity.kind) {
    case ENTITY_VALUE: return entity.value;
    case ENTITY_SCOPE: return scope_value(lowering, entity, node);
    default:
        return lowering_opaque(
            lowering, arena_printf(lowering->arena, "`%.*s` as a value", STR_ARGS(entity.name)));
    }
}

Entity lower_entity(Lowering *lowering, SyntaxNode node) {
    switch (node_kind(node)) {
    case SYNTAX_IDENTIFIER: {
        Entity entity = lower_name(lowering, node);
        if (entity.kind == ENTITY_VALUE) lowering_sight(lowering, node, entity.value);
        return entity;
    }
    case SYNTAX_ATTRIBUTE: return lower_attribute(lowering, node);
    case SYNTAX_PARENTHESIZED: {
        SyntaxNode *children;
        if (node_children(lowering->arena, node, &children) == 1 &&
            (node_kind(children[0]) == SYNTAX_IDENTIFIER ||
             node_kind(children[0]) == SYNTAX_ATTRIBUTE))
            return lower_entity(lowering, children[0]);
        break;
    }
    default: break;
    }
    return entity_of_value(lower_value(lowering, node));
}

// --- All expressions

static Value *lower_unsupported_expression(Lowering *lowering, SyntaxNode node, const char *what) {
    lowering_report(lowering, DIAGNOSTIC_UNSUPPORTED_PYTHON, node, "Triton cannot compile %s.",
                    what);
    return lowering_opaque(lowering, "an expression that Triton cannot compile");
}

static Value *expression_lower(Lowering *lowering, SyntaxNode node) {
    SyntaxNode *children;
    switch (node_kind(node)) {
    case SYNTAX_IDENTIFIER:
    case SYNTAX_ATTRIBUTE: return entity_value(lowering, lower_entity(lowering, node), node);
    case SYNTAX_INTEGER: return lower_integer(lowering, node);
    case SYNTAX_FLOAT: return lower_float(lowering, node);
    case SYNTAX_TRUE: return build_bool(&lowering->builder, true);
    case SYNTAX_FALSE: return build_bool(&lowering->builder, false);
    case SYNTAX_NONE: return build_none(&lowering->builder);
    case SYNTAX_STRING:
    case SYNTAX_CONCATENATED_STRING: return lower_string(lowering, node);
    case SYNTAX_PARENTHESIZED:
        if (node_children(lowering->arena, node, &children) != 1) break;
        return lower_value(lowering, children[0]);
    case SYNTAX_TUPLE:
    case SYNTAX_LIST:
    case SYNTAX_EXPRESSION_LIST:
    case SYNTAX_PATTERN_LIST:
    case SYNTAX_TUPLE_PATTERN: return lower_tuple(lowering, node);
    case SYNTAX_UNARY: return lower_unary(lowering, node);
    case SYNTAX_BINARY: return lower_binary(lowering, node);
    case SYNTAX_BOOLEAN: return lower_boolean(lowering, node);
    case SYNTAX_NOT: return lower_not(lowering, node);
    case SYNTAX_COMPARISON: return lower_comparison(lowering, node);
    case SYNTAX_CONDITIONAL: return lower_conditional(lowering, node);
    case SYNTAX_CALL: return lower_call(lowering, node);
    case SYNTAX_SUBSCRIPT: return lower_subscript(lowering, node);
    case SYNTAX_LIST_COMPREHENSION:
    case SYNTAX_GENERATOR: return lower_comprehension(lowering, node);
    case SYNTAX_NAMED_EXPRESSION: {
        Value *value = lower_value(lowering, node_field(node, "value"));
        lower_assign(lowering, node_field(node, "name"), value);
        return value;
    }
    case SYNTAX_LAMBDA: return lower_unsupported_expression(lowering, node, "`lambda`");
    case SYNTAX_DICTIONARY:
    case SYNTAX_DICTIONARY_COMPREHENSION:
        return lower_unsupported_expression(lowering, node, "a dictionary");
    case SYNTAX_SET:
    case SYNTAX_SET_COMPREHENSION: return lower_unsupported_expression(lowering, node, "a set");
    case SYNTAX_YIELD: return lower_unsupported_expression(lowering, node, "`yield`");
    case SYNTAX_AWAIT: return lower_unsupported_expression(lowering, node, "`await`");
    case SYNTAX_ERROR: return lowering_silent(lowering, "text that is not Python");
    default: break;
    }
    if (node_is_null(node) || node_has_error(node))
        return lowering_silent(lowering, "an unfinished expression");
    return lowering_unknown(lowering, node, "This expression (%s) is not understood.",
                            node_kind_name(node));
}

Value *lower_value(Lowering *lowering, SyntaxNode node) {
    Value *value = NULL;
    Range former = lowering->builder.range;
    if (lowering_deeper(lowering, node)) {
        lowering_at(lowering, node);
        value = expression_lower(lowering, node);
    }
    lowering->builder.range = former;
    lowering->depth--;
    if (!value) value = lowering_silent(lowering, "no value");
    lowering_sight(lowering, node, value);
    return value;
}
