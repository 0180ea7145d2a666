#include "analysis/cost/cost_instances.h"

#include "analysis/checks/check_instances.h"

static bool is_same(const Constant *a, const Constant *b) {
    if (!a || !b) return a == b;
    return a->kind == b->kind && a->integer == b->integer;
}

static bool is_told(const CostInstances *told, const Instance *instance, int count) {
    for (LIST_EACH(int, i, told->list)) {
        bool same = true;
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
        CostInstance one = {.values = instance->values};
        const FunctionDefinition *launcher = instance->launch ? instance->launch->launcher : NULL;
        if (instance->configuration) {
            one.name = arena_printf(arena, "configuration %d", instance->configuration->number);
            one.range = instance->configuration->range;
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
