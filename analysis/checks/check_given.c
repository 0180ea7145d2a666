// Derivatives that are given by hand: their expressions are lowered once, with the types that the helper is called with.
#include "analysis/checks/check_given.h"

#include <string.h>

#include "analysis/lowering/rule.h"
#include "analysis/module/given_rules.h"
#include "base/budget.h"
#include "base/error.h"

enum { MOST_STEPS = 2000000 };  // of one rule; a long one takes some thousands

static const Kernel *kernel_of(const Kernel *kernels, int count,
                               const FunctionDefinition *function) {
    for (int i = 0; i < count; i++)
        if (kernels[i].definition == function) return &kernels[i];
    return NULL;
}

/// Whether the file names the function outside of itself and of the rule, as who calls it or hands it to a launch does.
static bool is_named(const GivenRule *rule) {
    Str text = rule->module->source->text, name = rule->name;
    Range own = rule->function->range;
    for (uint32_t at = 0; at + name.size <= text.size; at++) {
        uint32_t end = at + (uint32_t)name.size;
        bool is_own =
            (at >= own.start && at < own.end) || (at >= rule->range.start && at < rule->range.end);
        if (!is_own && memcmp(text.data + at, name.data, name.size) == 0 &&
            (at == 0 || !byte_is_word(text.data[at - 1])) &&
            (end == text.size || !byte_is_word(text.data[end])))
            return true;
    }
    return false;
}

static bool is_launched(const Module *module, const FunctionDefinition *function) {
    for (LIST_EACH(int, i, module->launches))
        if (module->launches.items[i].kernel == function) return true;
    return false;
}

/// A function with the parameters of the helper, `grad` and `result`, in which nothing stands.
static Function *function_of_rule(Arena *arena, const GivenRule *rule, const Kernel *kernel,
                                  NamedValue *names) {
    Function *function = function_new(arena, "rule");
    FunctionDefinition *definition = ARENA_NEW(arena, FunctionDefinition);
    *definition = *rule->function;
    definition->is_helper = false;  // what it is called with is as certain as it gets
    function->definition = definition;
    const Type number = {.kind = TYPE_NUMBER, .element = dtype_of(DTYPE_FLOAT32)};
    Type widest = number;
    int count = definition->parameter_count;
    for (int i = 0; i < count; i++) {
        Type type = number;
        if (kernel && kernel->function && i < kernel->function->parameter_count)
            type = kernel->function->parameters[i].value->type;
        if (type.kind == TYPE_NUMBER && type.rank > widest.rank) {
            widest.rank = type.rank;
            widest.dims = type.dims;
        }
        names[i].name = str_dup(arena, definition->parameters[i].name);
        names[i].value = function_add_parameter(function, names[i].name, type);
    }
    names[count] = (NamedValue){"grad", function_add_parameter(function, "grad", widest)};
    names[count + 1] = (NamedValue){"result", function_add_parameter(function, "result", widest)};
    return function;
}

static void check_expressions(Arena *scratch, const GivenRule *rule, const Kernel *kernel,
                              bool is_called, Diagnostics *diagnostics) {
    int count = rule->function->parameter_count + 2;
    NamedValue *names = ARENA_ARRAY(scratch, NamedValue, count);
    Function *function = function_of_rule(scratch, rule, kernel, names);
    Builder builder = {.function = function, .region = function->body, .range = rule->expressions};
    Diagnostic fault = {0};
    if (lower_given_rule(&builder, rule, names, count, &fault)) return;
    // With what an unused helper is called nobody knows.
    bool is_type = strcmp(diagnostic_rows[fault.id].family, "types") == 0;
    if ((is_type && !is_called) || !fault.rests_on_nothing) return;  // shapes are open here
    diagnose(diagnostics, DIAGNOSTIC_GRADIENT_RULE, fault.range, "%s", fault.message);
}

static void check_rule(Arena *scratch, const GivenRule *rule, const Kernel *kernels, int count,
                       Diagnostics *diagnostics) {
    const char *name = str_dup(scratch, rule->name);
    if (rule->problem) {
        diagnose(diagnostics, DIAGNOSTIC_GRADIENT_RULE, rule->range, "%s", rule->problem);
        return;
    }
    if (is_launched(rule->module, rule->function)) {
        diagnose(diagnostics, DIAGNOSTIC_GRADIENT_RULE, rule->range,
                 "`%s` is launched: a rule by hand is for a helper that kernels call", name);
        return;
    }
    const Kernel *kernel = kernel_of(kernels, count, rule->function);
    bool is_called = kernel && is_named(rule);
    if (kernel && !is_called)
        diagnose(diagnostics, DIAGNOSTIC_GRADIENT_RULE, rule->range,
                 "no kernel of this file calls `%s`: the rule is for kernels of other files alone",
                 name)
            ->severity = SEVERITY_HINT;
    check_expressions(scratch, rule, kernel, is_called, diagnostics);
}

void check_given_rules(Arena *scratch, const Module *module, const Kernel *kernels, int count,
                       Diagnostics *diagnostics) {
    GivenRules rules = given_rules(scratch, module);
    for (LIST_EACH(int, i, rules)) {
        const GivenRule *rule = &rules.items[i];
        StepBudget *budget = ARENA_NEW(scratch, StepBudget);
        BugGuard guard;
        if (BUG_GUARD(&guard)) {
            budget_start(budget, MOST_STEPS);
            check_rule(scratch, rule, kernels, count, diagnostics);
            budget_stop(budget);
            bug_guard_end(&guard);
        } else if (guard.cause == BUG_UNWANTED) {
            bug_raise_again(&guard);
        }
    }
}
