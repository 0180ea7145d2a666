// Jit functions, inlined where they are called.
#include "analysis/calls/lower_inline.h"

#include "analysis/build/build.h"
#include "analysis/calls/lower_given.h"
#include "analysis/expressions/lower_expression.h"
#include "analysis/frames/recursion.h"
#include "analysis/frames/sightings.h"
#include "analysis/frames/type_join.h"
#include "analysis/syntax/syntax_nodes.h"

enum { RECURSION_UNDER_UNKNOWN = 2 };

static Value *default_value(Lowering *lowering, const FunctionDefinition *callee,
                            const ParameterDefinition *parameter) {
    LoweringFrame frame = {.module = callee->module, .source = callee->module->source};
    frame_enter(lowering, &frame);
    lowering->global_depth++;
    Value *value = lower_value(lowering, parameter->default_node);
    lowering->global_depth--;
    frame_leave(lowering, &frame);
    return value;
}

static const Value *keyword_find(const Arguments *arguments, Str name, int *index) {
    for (LIST_EACH(int, i, arguments->keywords))
        if (str_is(name, arguments->keywords.items[i].name)) {
            *index = i;
            return arguments->keywords.items[i].value;
        }
    return NULL;
}

/// Whether the function takes what its `def` says: a decorator that is not known may have made something else of it.
static bool signature_is_known(const FunctionDefinition *callee) {
    return callee->is_jit || callee->decorators.count == 0;
}

/// Its decorator says what it does: `...`, and a docstring at most.
static bool is_stub(const FunctionDefinition *callee) {
    if (signature_is_known(callee)) return false;
    uint32_t count = node_child_count(callee->body);
    SyntaxNode last = count ? node_child(callee->body, count - 1) : callee->body;
    return str_is(node_text(callee->module->source, last), "...");
}

/// Values by the callee's parameters. False (reported where that is certain) when the arguments do not fit.
static bool parameters_bind(Lowering *lowering, const FunctionDefinition *callee,
                            const Arguments *arguments, Value **values, SyntaxNode node) {
    int position = 0;
    int used_keywords = 0;
    // what is no function of Triton's was said already
    bool is_said = !callee->is_jit && !callee->decorators.count && !lowering->global_depth;
    bool takes_all_keywords = false, is_certain = signature_is_known(callee) && !is_said;
    for (int i = 0; i < callee->parameter_count; i++) {
        const ParameterDefinition *parameter = &callee->parameters[i];
        int keyword = -1;
        if (parameter->is_variadic) {
            Str written = source_slice(parameter->range);
            takes_all_keywords = takes_all_keywords || str_starts(written, "**");
            int count = str_starts(written, "**") ? 0 : arguments->positional.count - position;
            if (count < 0) count = 0;
            values[i] =
                build_tuple(&lowering->builder, arguments->positional.items + position, count);
            position += count;
        } else if (keyword_find(arguments, parameter->name, &keyword)) {
            values[i] = arguments->keywords.items[keyword].value;
            used_keywords++;
        } else if (position < arguments->positional.count && !parameter->is_keyword_only) {
            values[i] = arguments->positional.items[position++];
        } else if (!node_is_null(parameter->default_node)) {
            values[i] = default_value(lowering, callee, parameter);
        } else {
            if (!arguments->is_open && is_certain)
                lowering_report(lowering, DIAGNOSTIC_WRONG_ARGUMENT, node, "`%.*s` needs `%.*s`.",
                                STR_ARGS(callee->name), STR_ARGS(parameter->name));
            values[i] = lowering_silent(lowering, "an argument that is missing");
            if (!arguments->is_open) return false;
        }
    }
    if (position < arguments->positional.count) {
        if (is_certain)
            lowering_report(lowering, DIAGNOSTIC_WRONG_ARGUMENT, node,
                            "`%.*s` takes %d arguments, not %d.", STR_ARGS(callee->name), position,
                            arguments->positional.count);
        return false;
    }
    if (used_keywords == arguments->keywords.count || takes_all_keywords) return true;
    for (LIST_EACH(int, k, arguments->keywords)) {
        const char *name = arguments->keywords.items[k].name;
        bool is_known = str_is(STR("num_warps"), name) || str_is(STR("num_stages"), name);
        for (int i = 0; i < callee->parameter_count; i++)
            is_known = is_known || str_is(callee->parameters[i].name, name);
        if (is_known) continue;
        if (is_certain)
            lowering_report(lowering, DIAGNOSTIC_WRONG_ARGUMENT, node,
                            "`%.*s` has no parameter `%s`.", STR_ARGS(callee->name), name);
        return false;
    }
    return true;
}

/// How often `callee` is being inlined already since an `if` on something unknown was entered.
static int recursion_count(const Lowering *lowering, const FunctionDefinition *callee) {
    int count = 0;
    for (const LoweringFrame *frame = lowering->frame; frame; frame = frame->caller)
        if (frame->definition == callee &&
            frame->unknown_conditions < lowering->frame->unknown_conditions)
            count++;
    return count;
}

static bool inline_allowed(Lowering *lowering, const FunctionDefinition *callee, SyntaxNode node) {
    if (lowering->call_depth >= lowering->max_depth) {
        lowering_report(
            lowering, DIAGNOSTIC_LIMIT_REACHED, node,
            "Helpers call each other more than %d levels deep; the analysis stops here.",
            lowering->max_depth);
        lowering->stopped = true;
        return false;
    }
    if (recursion_count(lowering, callee) >= RECURSION_UNDER_UNKNOWN) {
        lowering_report(lowering, DIAGNOSTIC_NOT_UNDERSTOOD, node,
                        "`%.*s` calls itself under a condition that is not known here.",
                        STR_ARGS(callee->name));
        return false;
    }
    return true;
}

/// What a helper sees of an argument: nothing of the values and parameters of its caller.
static Type type_of_caller(Arena *arena, Type type) {
    type = type_detached(arena, type);
    if (type.element.code == DTYPE_OF_PARAMETER) {
        DTypeClass class = type.element.parameter_class;
        type.element = dtype_of(class == CLASS_SIGNED  ? DTYPE_ANY_INT
                                : class == CLASS_FLOAT ? DTYPE_ANY_FLOAT
                                                       : DTYPE_ANY_NUMBER);
    }
    return type;
}

/// Keeps with what types a helper is called, so that it can be shown with them on its own.
static void call_observe(Lowering *lowering, const FunctionDefinition *callee,
                         Value *const *values) {
    Map *observed = lowering->options ? lowering->options->observed : NULL;
    if (!observed || !lowering->diagnostics) return;
    Type *types = map_get_pointer(observed, callee);
    bool is_first = !types;
    if (is_first) {
        types = ARENA_ARRAY(observed->arena, Type, callee->parameter_count + 1);
        map_set_pointer(observed, callee, types);
    }
    Type *seen = ARENA_ARRAY(observed->arena, Type, callee->parameter_count + 1);
    for (int i = 0; i < callee->parameter_count; i++) {
        seen[i] = type_of_caller(observed->arena, type_at_runtime(values[i]));
        if (values[i]->constant)
            seen[i] = (Type){.kind = values[i]->type.kind == TYPE_NUMBER ? seen[i].kind : TYPE_NONE,
                             .element = seen[i].element};
        if (is_first) types[i] = seen[i];
    }
    if (!is_first) types_observe(observed->arena, types, seen, callee->parameter_count);
}

Value *lower_inline(Lowering *lowering, const FunctionDefinition *callee, Arguments *arguments,
                    SyntaxNode node) {
    if (lowering_over(lowering, node) || !inline_allowed(lowering, callee, node))
        return lowering_silent(lowering, "a call that is not followed");
    if (is_stub(callee))
        return lowering_unknown(lowering, node,
                                "It is not known what the decorator of `%.*s` does.",
                                STR_ARGS(callee->name));
    Value **values = ARENA_ARRAY(lowering->arena, Value *, callee->parameter_count + 1);
    if (!parameters_bind(lowering, callee, arguments, values, node))
        return lowering_silent(lowering, "a call with wrong arguments");
    Builder outside = lowering->builder;
    int first_op = outside.function->op_count;
    CallSite *call = ARENA_NEW(lowering->arena, CallSite);
    *call = (CallSite){.range = outside.range, .callee = callee, .outer = outside.call};
    lowering->builder.call = call;
    lowering->call_depth++;
    LoweringFrame frame = {
        .definition = callee, .module = callee->module, .source = callee->module->source};
    frame_enter(lowering, &frame);
    call_observe(lowering, callee, values);
    for (int i = 0; i < callee->parameter_count; i++) {
        const ParameterDefinition *parameter = &callee->parameters[i];
        uint32_t start = parameter->range.start;
        variable_set(lowering, parameter->name, values[i]);
        lowering_sight_inlined(lowering, start, start + (uint32_t)parameter->name.size, values[i]);
    }
    Outcome outcome = lower_block(lowering, callee->body);
    if (outcome.value) {
        Range body = node_range(frame.source, callee->body);
        lowering_sight_inlined(lowering, body.start, body.end, outcome.value);
    }
    frame_leave(lowering, &frame);
    lowering->call_depth--;
    // Ops may have been put before the former place, so only the place in the call stack is restored.
    lowering->builder.call = outside.call;
    lowering->builder.range = outside.range;
    Value *value = outcome.value ? outcome.value : build_none(&lowering->builder);
    return lower_given(lowering, callee, values, value, first_op, node);
}
