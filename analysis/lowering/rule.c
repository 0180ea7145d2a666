// Expressions and bodies in Triton's language, lowered at a builder's place.
#include "analysis/lowering/rule.h"

#include <string.h>

#include "analysis/calls/lower_inline.h"
#include "analysis/calls/rule_text.h"
#include "analysis/expressions/lower_expression.h"
#include "analysis/syntax/syntax_nodes.h"

static Value *lower_text(Builder *builder, const char *text, const NamedValue *names,
                         int name_count, Error *error) {
    Arena *arena = builder->function->arena;
    Diagnostics found = {.arena = arena};
    bool owned = false;
    const RuleText *rule = rule_find(arena, str_trim(str_from(text)), &owned);
    Lowering lowering = {.arena = arena,
                         .builder = *builder,
                         .diagnostics = &found,
                         .max_ops = builder->function->op_count + 20000,
                         .max_depth = 8};
    lowering.builder.diagnostics = &found;
    LoweringFrame frame = {.source = rule->source};
    frame_enter(&lowering, &frame);
    for (int i = 0; i < name_count; i++)
        variable_set(&lowering, str_from(names[i].name), names[i].value);
    Value *value = NULL;
    if (node_has_error(syntax_root(rule->tree)))
        *error = arena_printf(arena, "`%s` is not valid: it does not parse.", text);
    else
        value = rule_lower(&lowering, rule);
    frame_leave(&lowering, &frame);
    if (owned) syntax_free(rule->tree);
    if (*error) return NULL;
    if (!value) *error = arena_printf(arena, "`%s` has no value.", text);
    for (LIST_EACH(int, i, found.list)) {
        if (found.list.items[i].severity != SEVERITY_ERROR &&
            found.list.items[i].id != DIAGNOSTIC_NOT_UNDERSTOOD)
            continue;
        *error = arena_printf(arena, "`%s`: %s", text, found.list.items[i].message);
        return NULL;
    }
    return value;
}

Value *lower_expression(Builder *builder, const char *text, const NamedValue *names, int name_count,
                        Error *error) {
    *error = NULL;
    return lower_text(builder, text, names, name_count, error);
}

Value *lower_body(Builder *builder, const char *text, const NamedValue *names, int name_count,
                  Error *error) {
    *error = NULL;
    return lower_text(builder, text, names, name_count, error);
}

/* ---- rules given by hand ---- */

static void fault_set(Arena *arena, Diagnostic *fault, Range range, const char *message) {
    *fault = (Diagnostic){.id = DIAGNOSTIC_GRADIENT_RULE,
                          .range = range,
                          .rests_on_nothing = true,
                          .message = arena_strdup(arena, message)};
}

/// The first thing that was not understood.
static bool fault_found(const Diagnostics *found, const GivenRule *rule, Diagnostic *fault) {
    for (LIST_EACH(int, i, found->list)) {
        const Diagnostic *said = &found->list.items[i];
        bool is_warning = said->severity != SEVERITY_ERROR &&
                          said->id != DIAGNOSTIC_NOT_UNDERSTOOD &&
                          said->id != DIAGNOSTIC_UNKNOWN_OPERATION;
        if (is_warning) continue;
        bool is_here = said->range.source == rule->range.source;
        fault_set(found->arena, fault, is_here ? said->range : rule->expressions, said->message);
        fault->id = said->id;
        return true;
    }
    return false;
}

/// The rule's file with nothing but the expressions in it, so that what is found there has its place in the file.
static const Source *expressions_alone(Arena *arena, const GivenRule *rule) {
    const Source *source = rule->range.source;
    Range range = rule->expressions;
    char *text = arena_strndup(arena, source->text.data, range.end);
    memset(text, '\n', range.start);
    return source_new(arena, source->path, (Str){text, range.end});
}

/// The nodes between the commas; 0 where the text is no list of expressions.
static int expression_nodes(Arena *arena, const SyntaxTree *tree, SyntaxNode **nodes) {
    SyntaxNode *items;
    SyntaxNode root = syntax_root(tree);
    if (node_has_error(root) || node_children(arena, root, &items) != 1 ||
        node_kind(items[0]) != SYNTAX_EXPRESSION_STATEMENT)
        return 0;
    int count = node_children(arena, items[0], nodes);
    for (int i = 0; i < count; i++)
        if (node_kind((*nodes)[i]) == SYNTAX_ASSIGNMENT) return 0;
    bool is_list = count == 1 && (node_kind((*nodes)[0]) == SYNTAX_TUPLE ||
                                  node_kind((*nodes)[0]) == SYNTAX_EXPRESSION_LIST);
    return is_list ? node_children(arena, (*nodes)[0], nodes) : count;
}

/// A value for each expression, or the items of the one tuple that a function returns.
static int expressions_lower(Lowering *lowering, const SyntaxNode *nodes, int count,
                             Value ***values) {
    *values = ARENA_ARRAY(lowering->arena, Value *, count + 1);
    for (int i = 0; i < count; i++) (*values)[i] = lower_value(lowering, nodes[i]);
    int items;
    if (count != 1 || !value_is_tuple((*values)[0], &items)) return count;
    *values = (*values)[0]->op->operands;
    return items;
}

typedef struct BranchSearch {
    int first_op;
    bool found;
} BranchSearch;

static bool visit_branch(void *context, Op *op) {
    BranchSearch *search = context;
    search->found |=
        op->id >= search->first_op && op->code == OP_IF && op->operands[0]->type.rank > 0;
    return !search->found;
}

/// `grad if x > 0 else 0` of tiles, which Triton does not compile.
static bool fault_of_branches(const Function *function, int first_op, const GivenRule *rule,
                              Diagnostic *fault) {
    BranchSearch search = {.first_op = first_op};
    region_walk(function->body, visit_branch, &search);
    if (search.found)
        fault_set(function->arena, fault, rule->expressions,
                  "the condition of an `if` is a tile: use `tl.where`");
    return search.found;
}

static bool values_are_gradients(Arena *arena, const GivenRule *rule, Value *const *values,
                                 int count, Diagnostic *fault) {
    if (count != rule->parameters.count && count != given_rule_least(rule)) {
        fault_set(arena, fault, rule->expressions,
                  arena_printf(arena,
                               "the rule has %d expression%s for the %d argument%s of `%.*s`: one "
                               "each, and `None` where there is no gradient",
                               count, count == 1 ? "" : "s", rule->parameters.count,
                               rule->parameters.count == 1 ? "" : "s", STR_ARGS(rule->name)));
        return false;
    }
    for (int i = 0; i < count; i++) {
        if (value_is_none(values[i]) || values[i]->type.kind == TYPE_NUMBER) continue;
        int at = 0;  // of the parameter that it is for
        while (given_rule_expression(rule, at, count) != i) at++;
        Str name = rule->parameters.items[at];
        fault_set(arena, fault, rule->expressions,
                  arena_printf(arena,
                               "it is not known what the rule gives for `%.*s`: it has to "
                               "be a number or a tile of numbers",
                               STR_ARGS(name)));
        fault->rests_on_nothing = values[i]->type.kind != TYPE_UNKNOWN;
        return false;
    }
    return true;
}

/// A value for each parameter: NULL for constexprs that have no expression.
static Value **values_of_parameters(Arena *arena, const GivenRule *rule, Value **values,
                                    int count) {
    Value **all = ARENA_ARRAY(arena, Value *, rule->parameters.count + 1);
    for (LIST_EACH(int, i, rule->parameters)) {
        int at = given_rule_expression(rule, i, count);
        if (at >= 0) all[i] = values[at];
    }
    return all;
}

Value **lower_given_rule(Builder *builder, const GivenRule *rule, const NamedValue *names,
                         int name_count, Diagnostic *fault) {
    Arena *arena = builder->function->arena;
    static const LowerOptions options = {.keeps_given = true};
    Diagnostics found = {.arena = arena};
    int first_op = builder->function->op_count;
    SyntaxTree *tree = syntax_parse(expressions_alone(arena, rule));
    SyntaxNode *nodes = NULL;
    int count = expression_nodes(arena, tree, &nodes);
    Value **values = NULL;
    if (count == 0) {
        fault_set(arena, fault, rule->expressions,
                  "this is no list of expressions: write one for each argument, with commas "
                  "between them");
    } else {
        Lowering lowering = {.arena = arena,
                             .builder = *builder,
                             .options = &options,
                             .diagnostics = &found,
                             .root = rule->range.source,
                             .max_ops = builder->function->op_count + 20000,
                             .max_depth = 8};
        lowering.builder.diagnostics = &found;
        lowering.builder.range = rule->expressions;
        lowering.builder.call = NULL;
        LoweringFrame frame = {.module = rule->module, .source = rule->range.source};
        frame_enter(&lowering, &frame);
        for (int i = 0; i < name_count; i++)
            variable_set(&lowering, str_from(names[i].name), names[i].value);
        count = expressions_lower(&lowering, nodes, count, &values);
        frame_leave(&lowering, &frame);
        if (fault_found(&found, rule, fault) ||
            fault_of_branches(builder->function, first_op, rule, fault) ||
            !values_are_gradients(arena, rule, values, count, fault))
            values = NULL;
        else
            values = values_of_parameters(arena, rule, values, count);
    }
    syntax_free(tree);
    return values;
}

Value *lower_helper(Builder *builder, const FunctionDefinition *helper, Value *const *values) {
    Arena *arena = builder->function->arena;
    static const LowerOptions options = {.unroll_static = true};
    Diagnostics found = {.arena = arena};
    Lowering lowering = {.arena = arena,
                         .builder = *builder,
                         .options = &options,
                         .diagnostics = &found,
                         .root = helper->module->source,
                         .max_ops = builder->function->op_count + 20000,
                         .max_depth = 8};
    lowering.builder.diagnostics = &found;
    LoweringFrame frame = {.module = helper->module, .source = helper->module->source};
    Arguments arguments = {0};
    for (int i = 0; i < helper->parameter_count; i++)
        LIST_PUSH(arena, &arguments.positional, values[i]);
    frame_enter(&lowering, &frame);
    Value *value = lower_inline(&lowering, helper, &arguments, helper->body);
    frame_leave(&lowering, &frame);
    for (LIST_EACH(int, i, found.list)) {
        const Diagnostic *said = &found.list.items[i];
        if (said->severity == SEVERITY_ERROR || said->id == DIAGNOSTIC_NOT_UNDERSTOOD) return NULL;
    }
    return value->type.kind == TYPE_NUMBER ? value : NULL;
}
