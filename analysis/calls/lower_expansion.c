// Operations that the table defines by others (EXPANDS), called.
#include "analysis/calls/lower_expansion.h"

#include "analysis/build/build.h"
#include "analysis/calls/lower_scaled.h"
#include "analysis/calls/rule_text.h"

Value *lower_expansion(Lowering *lowering, OpCode code, Arguments *arguments, SyntaxNode node) {
    int count;
    const OpParameter *parameters = op_parameters(code, &count);
    bool owned = false;
    const RuleText *rule = rule_find(lowering->arena, str_from(op_rows[code].expands), &owned);
    LoweringFrame frame = {.source = rule->source};
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
    if (code == OP_DOT_SCALED && lower_scaled_is_refused(lowering, values, node)) {
        if (owned) syntax_free(rule->tree);
        return lowering_silent(lowering, "a product that Triton refuses");
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
    if (code == OP_DOT_SCALED) {
        static const char *const names[] = {"lhs_many", "rhs_many"};
        for (int i = 0; i < 2; i++) {
            int64_t many = lower_scaled_elements(values, i == 1);
            variable_set(lowering, str_from(names[i]),
                         many ? build_int(&lowering->builder, many)
                              : build_none(&lowering->builder));
        }
    }
    Value *value = rule_lower(lowering, rule);
    frame_leave(lowering, &frame);
    if (owned) syntax_free(rule->tree);
    return value ? value : lowering_silent(lowering, "a definition without a value");
}
