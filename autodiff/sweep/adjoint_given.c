// The derivative that an author gives of a helper, in place of one from the table.
#include "autodiff/sweep/adjoint_given.h"

#include "analysis/lowering/rule.h"
#include "autodiff/primal/activity.h"
#include "autodiff/sweep/adjoint.h"

static void refuse(Differentiation *state, const GivenRule *rule, Range range,
                   const char *message) {
    adjoint_fail(state, DIAGNOSTIC_GRADIENT_UNSUPPORTED_OPERATION, range,
                 "the rule that is given for `%.*s` cannot be used: %s", STR_ARGS(rule->name),
                 message);
}

static void note_use(Differentiation *state, const GivenRule *rule, bool is_checked) {
    GivenUses *uses = state->options ? state->options->given : NULL;
    if (!uses) return;
    for (LIST_EACH(int, i, uses->list)) {
        GivenUse *use = &uses->list.items[i];
        if (use->rule->range.start != rule->range.start ||
            use->rule->range.source != rule->range.source)
            continue;
        use->is_checked &= is_checked;
        return;
    }
    GivenUse use = {rule, is_checked};
    LIST_PUSH(state->arena, &uses->list, use);
}

static bool same_shape(Type a, Type b) {
    bool same = a.rank == b.rank;
    for (int i = 0; same && i < a.rank; i++) same = poly_equal(a.dims[i], b.dims[i]);
    return same;
}

static Value *broadcast(Differentiation *state, Value *value, Type type) {
    Builder *b = &state->builder;
    Value *shape = build_shape(b, type);
    if (!shape) return value;
    if (value->constant || value->type.is_constexpr)
        return build_ternary(b, OP_FULL, shape, value, build_dtype(b, dtype_of(DTYPE_FLOAT32)));
    return build_binary(b, OP_BROADCAST_TO, value, shape);
}

/// A gradient of the result's shape, unless it has the argument's already: what is smaller stands for each element of the result, and one
/// number for each of the argument.
static Value *spread(Differentiation *state, const Op *op, Value *value, const Value *target) {
    Type result = type_here(state, op->results[0]), wanted = type_here(state, target);
    if (same_shape(value->type, wanted)) return value;
    if (value->type.rank == 0) return broadcast(state, value, wanted);
    return same_shape(value->type, result) ? value : broadcast(state, value, result);
}

void rule_given(Differentiation *state, const Op *op, Value *gradient) {
    const FunctionDefinition *callee = op->operands[0]->constant->function;
    const GivenRule *rule = given_rule_of(state->arena, state->primal->definition->module, callee);
    if (!rule) return;  // the lowering has found one
    if (op->note) {
        refuse(state, rule, rule->range, op->note);
        return;
    }
    NamedValue *names = ARENA_ARRAY(state->arena, NamedValue, callee->parameter_count + 2);
    int count = 0;
    for (int i = 0; i < callee->parameter_count; i++)
        names[count++] = (NamedValue){str_dup(state->arena, callee->parameters[i].name),
                                      recomputed(state, op->operands[GIVEN_ARGUMENTS + i])};
    names[count++] = (NamedValue){"grad", spread(state, op, gradient, op->results[0])};
    names[count++] = (NamedValue){"result", recomputed(state, op->results[0])};
    Diagnostic fault;
    Value **values = lower_given_rule(&state->builder, rule, names, count, &fault);
    if (!values) {
        refuse(state, rule, fault.range, fault.message);
        return;
    }
    bool is_checked = false;
    value_is_bool(op->operands[2], &is_checked);
    note_use(state, rule, is_checked);
    for (LIST_EACH(int, i, rule->parameters)) {
        int index = 0;
        while (!str_equal(callee->parameters[index].name, rule->parameters.items[i])) index++;
        Value *target = op->operands[GIVEN_ARGUMENTS + index];
        if (!values[i] || value_is_none(values[i]) || !value_is_active(state, target)) continue;
        adjoint_add(state, target, spread(state, op, values[i], target));
    }
}
