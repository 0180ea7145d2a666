// Expressions and bodies in Triton's language, lowered at a builder's place.
#include "analysis/lowering/rule.h"

#include "analysis/calls/rule_text.h"
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
