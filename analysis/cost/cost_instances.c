#include "analysis/cost/cost_instances.h"

#include <math.h>
#include <string.h>

#include "analysis/checks/check_instances.h"

static bool is_same(const Constant *a, const Constant *b) {
    if (!a || !b) return a == b;
    return a->kind == b->kind && a->integer == b->integer;
}

static bool is_told(const CostInstances *told, const Instance *instance, int count) {
    for (LIST_EACH(int, i, told->list)) {
        const CostInstance *one = &told->list.items[i];
        bool same =
            one->warps == instance->options.warps && one->stages == instance->options.stages;
        for (int p = 0; p < count; p++)
            same &= is_same(told->list.items[i].values[p], instance->values[p]);
        if (same) return true;
    }
    return false;
}

CostInstances cost_instances(Arena *arena, const Kernel *kernel) {
    CostInstances told = {0};
    Check check = {.arena = arena, .kernel = kernel, .function = kernel->function};
    Instances found = instances_find(&check);
    for (int i = 0; i < found.count; i++) {
        const Instance *instance = &found.items[i];
        if (is_told(&told, instance, kernel->function->parameter_count)) continue;
        CostInstance one = {.values = instance->values,
                            .warps = instance->options.warps,
                            .stages = instance->options.stages};
        if (instance->configuration && instance->configuration->place) continue;
        const FunctionDefinition *launcher = instance->launch ? instance->launch->launcher : NULL;
        if (instance->configuration) {
            one.name = arena_printf(arena, "configuration %d", instance->configuration->number);
            one.range = instance->configuration->range;
            one.is_configuration = true;
        } else {
            one.name = launcher
                           ? arena_printf(arena, "the launch in %.*s", STR_ARGS(launcher->name))
                           : "the launch of the module";
            one.range = instance->launch->range;
        }
        LIST_PUSH(arena, &told.list, one);
    }
    return told;
}

CostInstances cost_instances_as(Arena *arena, const Kernel *kernel, const Kernel *tuned) {
    CostInstances others = cost_instances(arena, tuned), told = {0};
    const Function *function = kernel->function, *named = tuned->function;
    for (LIST_EACH(int, i, others.list)) {
        CostInstance one = others.list.items[i];
        const Constant **values =
            ARENA_ARRAY(arena, const Constant *, function->parameter_count + 1);
        for (int p = 0; p < function->parameter_count; p++)
            for (int k = 0; k < named->parameter_count && function->parameters[p].is_constexpr; k++)
                if (strcmp(function->parameters[p].name, named->parameters[k].name) == 0)
                    values[p] = one.values[k];
        one.values = values;
        if (one.is_configuration) LIST_PUSH(arena, &told.list, one);
    }
    return told;
}

FootprintOptions cost_options(const CostInstance *instance, int capability) {
    FootprintOptions options = {capability, FOOTPRINT_WARPS_UNASKED, FOOTPRINT_STAGES_UNASKED};
    if (instance && instance->warps) options.warps = instance->warps;
    if (instance && instance->stages) options.stages = instance->stages;
    return options;
}

Footprint cost_footprint(Arena *arena, const Kernel *kernel, const CostInstance *instance,
                         FootprintOptions options) {
    Check check = {.arena = arena, .kernel = kernel, .function = kernel->function};
    int count = kernel->function->parameter_count;
    const Constant **values = ARENA_ARRAY(arena, const Constant *, count + 1);
    double *numbers = ARENA_ARRAY(arena, double, count + 1);
    int *bits = ARENA_ARRAY(arena, int, count + 1);
    const Diagnostics *said;
    for (int p = 0; p < count; p++) {
        numbers[p] = NAN;
        if (instance) values[p] = instance->values[p];
    }
    const Function *function = instance_lower(&check, values, NULL, &said);
    if (!function || function->parameter_count != count) return (Footprint){0};
    CountedLaunch launch = {.numbers = numbers, .bits = bits};
    return footprint_of(arena, function, &launch, options);
}
