// Views that a kernel reaches around (`x[1:]` and the row before), or may, by numbers from memory.
#include "autodiff/plan/parts.h"

#include "autodiff/addresses/reach.h"
#include "autodiff/plan/indexed.h"

void parts_plan(Arena *arena, LaunchPlan *plan) {
    int count = plan->kernel->parameter_count;
    const Function *forward = plan->backward->kernel->function;
    bool *parts = ARENA_ARRAY(arena, bool, count + 1);
    reach_beyond(arena, plan->kernel, forward, parts);
    for (int p = 0; p < count; p++) {
        const Parameter *parameter = &forward->parameters[p];
        parts[p] &= plan->passed[p] && !parameter->is_stored && !parameter_is_descriptor(parameter);
    }
    plan->is_part = parts;
    bool *by_memory = ARENA_ARRAY(arena, bool, count + 1);
    plan->is_indexed = ARENA_ARRAY(arena, bool, count + 1);
    plan->is_numbered = ARENA_ARRAY(arena, bool, count + 1);
    indexed_find(arena, forward, by_memory, plan->is_numbered);
    bool *stored = ARENA_ARRAY(arena, bool, count + 1);
    reach_stores_beyond(arena, plan->kernel, forward, stored);
    for (int p = 0; p < count; p++) {
        bool is_descriptor = parameter_is_descriptor(&forward->parameters[p]);
        bool is_open = plan->passed[p] && !parts[p] && !is_descriptor;
        plan->is_numbered[p] |= stored[p] && !by_memory[p];
        plan->is_numbered[p] &= is_open;
        plan->is_indexed[p] = is_open && (by_memory[p] || plan->is_numbered[p]);
    }
}

bool plan_has_parts(const LaunchPlan *plan) {
    for (int p = 0; plan->is_part && p < plan->kernel->parameter_count; p++)
        if (plan->is_part[p]) return true;
    return false;
}
