// Expressions: names, operators, comparisons, tuples and comprehensions. Never gives NULL.
#include "analysis/expressions/lower_expression.h"

#include <string.h>

#include "analysis/build/build.h"
#include "analysis/expressions/external_value.h"
#include "analysis/expressions/lower_access.h"
#include "analysis/expressions/lower_global.h"
#include "analysis/expressions/lower_literal.h"
#include "analysis/expressions/lower_operator.h"
#include "analysis/expressions/python_names.h"
#include "analysis/frames/branches.h"
#include "analysis/frames/conditions.h"
#include "analysis/frames/lowering.h"
#include "analysis/frames/ranges.h"
#include "analysis/frames/recursion.h"
#include "analysis/frames/sightings.h"
#include "analysis/frames/tuples.h"
#include "analysis/syntax/syntax_nodes.h"

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
            tuple_asked_whole(lowering, splat);
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
    if (!value_is_tuple(value, count)) {
        tuple_asked_whole(lowering, value);
        return false;
    }
    *items = value->op->operands;
    return true;
}

typedef struct LoweredComprehension {
    SyntaxNode *clauses;
    int count;
    SyntaxNode body;
    Arguments items;
    bool failed;
} LoweredComprehension;

static void comprehension_run(Lowering *lowering, LoweredComprehension *all, int at) {
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
static void report_comprehension(Lowering *lowering, SyntaxNode node,
                                 const LoweredComprehension *all) {
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
    LoweredComprehension all = {
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
static bool frame_is_nested(const LoweringFrame *frame) {
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
    if (value) return entity_of_value(version_known(lowering, value));
    if (!lowering->frame->module) return rule_name(lowering, name);
    ScopeEntry entry = module_resolve(lowering->arena, lowering->frame->module, name);
    if (entry.kind != SCOPE_MISSING)
        return (Entity){.kind = ENTITY_SCOPE, .entry = entry, .name = name};
    if (python_builtin_exists(name)) {
        report_python_name(lowering, node, name);
        return (Entity){.kind = ENTITY_PYTHON, .name = name};
    }
    // The statements after a branch were taken into it, also into branches of no instance that there is.
    bool may_be_dead = lowering->split_depth > 0 && map_get(&lowering->frame->slots, name);
    lowering->unassigned += may_be_dead;
    if (!may_be_dead && !frame_is_nested(lowering->frame) &&
        !module_has_errors(lowering->frame->module)) {
        Diagnostic *said = lowering_report(lowering, DIAGNOSTIC_UNDEFINED_NAME, node,
                                           "`%.*s` is not defined here.", STR_ARGS(name));
        if (said) said->is_of_python = true;
    }
    Range former = lowering_at(lowering, node);
    const char *why = frame_is_nested(lowering->frame)
                          ? "belongs to the function around the kernel: pass it as an argument"
                          : "is not defined";
    Value *unknown =
        lowering_opaque(lowering, arena_printf(lowering->arena, "`%.*s` %s", STR_ARGS(name), why));
    lowering->builder.range = former;
    return entity_of_value(unknown);
}

/// `triton.language.extra.tlx` and its like belong to other builds of Triton: one note in a file.
static bool report_extra_module(Lowering *lowering, Str name, SyntaxNode node) {
    if (!str_starts(name, "extra.")) return false;
    size_t end = strlen("extra.");
    while (end < name.size && name.data[end] != '.') end++;
    const char *message = arena_printf(
        lowering->arena,
        "`triton.language.%.*s` belongs to another build of Triton: what its operations compute is "
        "not known",
        STR_ARGS(((Str){name.data, end})));
    for (int i = 0; lowering->diagnostics && i < lowering->diagnostics->list.count; i++)
        if (strcmp(lowering->diagnostics->list.items[i].message, message) == 0) return true;
    Diagnostic *said = lowering_report(lowering, DIAGNOSTIC_NOT_UNDERSTOOD, node, "%s", message);
    if (said) said->once_a_file = said->message;
    return true;
}

static void report_unknown_operation(Lowering *lowering, Str name, SyntaxNode node) {
    if (report_extra_module(lowering, name, node)) return;
    DTypeCode dtype = dtype_from_name(name);
    const char *instead = dtype != DTYPE_UNKNOWN
                              ? arena_printf(lowering->arena, "tl.%s", dtype_name(dtype))
                              : op_foreign(name);
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

// --- Conditional expressions

static Outcome conditional_branch(Lowering *lowering, void *context, bool is_first) {
    const SyntaxNode *branches = context;
    return (Outcome){.value = lower_value(lowering, branches[is_first ? 0 : 1])};
}

static Value *lower_conditional(Lowering *lowering, SyntaxNode node) {
    SyntaxNode *children;
    int count = node_children(lowering->arena, node, &children);
    if (count < 3) return lowering_silent(lowering, "an unfinished expression");
    Value *condition = lower_value(lowering, children[1]);
    SyntaxNode branches[2] = {children[0], children[2]};
    bool truth;
    if (condition_known(lowering, condition, &truth))
        return lower_value(lowering, branches[truth ? 0 : 1]);
    lowering_at(lowering, node);
    return lower_branches(lowering, condition, conditional_branch, branches, AFTER_FOLLOWS,
                          &(int){0})
        .value;
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
