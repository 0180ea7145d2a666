// Text in Triton's language that is no user's: definitions (EXPANDS) and derivative rules of the operation table.
// Their syntax trees are parsed once per process and kept.
#include "analysis/lowering.h"

#include <stdatomic.h>

typedef struct RuleText {
    Arena *arena;
    Str text;
    const Source *source;
    SyntaxTree *tree;
    struct RuleText *next;
} RuleText;

// A list per bucket, only ever added to at the head, so that readers need no lock.
enum { RULE_BUCKETS = 512, RULES_KEPT = 8192 };
static _Atomic(RuleText *) rule_texts[RULE_BUCKETS];
static atomic_int rules_kept;

static uint32_t text_hash(Str text) {
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < text.size; i++) hash = (hash ^ (unsigned char)text.data[i]) * 16777619u;
    return hash;
}

static void rule_parse(Arena *arena, RuleText *rule, Str text) {
    rule->text = (Str){arena_strndup(arena, text.data, text.size), text.size};
    rule->source = source_new(arena, "", rule->text);
    rule->tree = syntax_parse(rule->source);
}

/// The parsed text. `*owned` is set when the caller has to free the tree (a text too many to keep).
static const RuleText *rule_find(Arena *arena, Str text, bool *owned) {
    _Atomic(RuleText *) *bucket = &rule_texts[text_hash(text) % RULE_BUCKETS];
    RuleText *head = atomic_load(bucket);
    for (RuleText *rule = head; rule; rule = rule->next)
        if (str_equal(rule->text, text)) return rule;
    *owned = atomic_load(&rules_kept) >= RULES_KEPT;
    if (*owned) {
        RuleText *rule = ARENA_NEW(arena, RuleText);
        rule_parse(arena, rule, text);
        return rule;
    }
    atomic_fetch_add(&rules_kept, 1);
    Arena *kept = arena_new();
    RuleText *rule = ARENA_NEW(kept, RuleText);
    rule->arena = kept;
    rule_parse(kept, rule, text);
    do rule->next = head;
    while (!atomic_compare_exchange_weak(bucket, &head, rule));
    return rule;
}

/// Lowers the statements or the expression of a rule in a frame of its own; variables are set by the caller.
static Value *rule_lower(Lowering *lowering, const RuleText *rule) {
    SyntaxNode root = syntax_root(rule->tree);
    SyntaxNode *items;
    int count = node_children(lowering->arena, root, &items);
    if (count == 1 && node_kind(items[0]) == SYNTAX_EXPRESSION_STATEMENT) {
        SyntaxNode expression = node_child(items[0], 0);
        SyntaxKind kind = node_kind(expression);
        if (node_child_count(items[0]) == 1 && kind != SYNTAX_ASSIGNMENT)
            return lower_value(lowering, expression);
    }
    Rest rest = {items, count, 0, NULL};
    Outcome outcome = lower_rest(lowering, &rest);
    return outcome.value;
}

Value *lower_expansion(Lowering *lowering, OpCode code, Arguments *arguments, SyntaxNode node) {
    int count;
    const OpParameter *parameters = op_parameters(code, &count);
    bool owned = false;
    const RuleText *rule = rule_find(lowering->arena, str_from(op_rows[code].expands), &owned);
    Frame frame = {.source = rule->source};
    Value **values = ARENA_ARRAY(lowering->arena, Value *, count + 1);
    const char *problem = NULL;
    int position = 0;
    for (int i = 0; i < count; i++) {
        for (LIST_EACH(int, k, arguments->keywords))
            if (str_is(parameters[i].name, arguments->keywords.items[k].name))
                values[i] = arguments->keywords.items[k].value;
        if (values[i] || position >= arguments->positional.count || parameters[i].is_keyword_only)
            continue;
        values[i] = arguments->positional.items[position++];
    }
    if (position < arguments->positional.count) problem = "takes fewer arguments";
    for (LIST_EACH(int, k, arguments->keywords))
        if (op_parameter_index(code, str_from(arguments->keywords.items[k].name)) < 0 &&
            arguments->keywords.items[k].name[0] != '_')
            problem = arena_printf(lowering->arena, "has no parameter `%s`",
                                   arguments->keywords.items[k].name);
    for (int i = 0; i < count; i++)
        if (!values[i] && !parameters[i].default_text.size)
            problem = arena_printf(lowering->arena, "needs `%.*s`", STR_ARGS(parameters[i].name));
    if (problem) {
        if (!arguments->is_open)
            lowering_report(lowering, DIAGNOSTIC_WRONG_ARGUMENT, node, "`%s` %s.",
                            op_rows[code].name, problem);
        if (owned) syntax_free(rule->tree);
        return lowering_silent(lowering, "a call with wrong arguments");
    }
    frame_enter(lowering, &frame);
    for (int i = 0; i < count; i++) {
        if (!values[i]) {
            bool default_owned = false;
            const RuleText *text =
                rule_find(lowering->arena, parameters[i].default_text, &default_owned);
            frame.source = text->source;
            values[i] = rule_lower(lowering, text);
            frame.source = rule->source;
            if (default_owned) syntax_free(text->tree);
        }
        variable_set(lowering, parameters[i].name, values[i]);
    }
    Value *value = rule_lower(lowering, rule);
    frame_leave(lowering, &frame);
    if (owned) syntax_free(rule->tree);
    return value ? value : lowering_silent(lowering, "a definition without a value");
}

// --- For others

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
    Frame frame = {.source = rule->source};
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
