// Launches of a backward in, the conditions out under which each of them runs.
#include "autodiff/plan/needs.h"

#include <string.h>

#include "autodiff/plan/parts.h"

enum { WRITTEN_OUT = 2 };  // conditions that a line has room for

int needs_before(const LaunchPlan *plan) {
    return 1 + plan->has_options + plan_has_descriptors(plan) + plan_has_parts(plan);
}

/// Where a parameter stands among what the class takes.
static int need_index(const LaunchPlan *plan, const char *parameter, int place) {
    for (int p = 0; strcmp(plan_parameter(plan, p)->name, parameter) != 0; p++)
        place += plan->passed[p];
    return place;
}

const char *need_text_at(Arena *arena, const LaunchPlan *plan, const char *ctx, int before,
                         const char *parameter) {
    return arena_printf(arena, "%s.needs_input_grad[%d]", ctx, need_index(plan, parameter, before));
}

const char *need_text(Arena *arena, const LaunchPlan *plan, const char *parameter) {
    return need_text_at(arena, plan, plan->ctx, needs_before(plan), parameter);
}

static bool launch_has(const BackwardLaunch *launch, const BackwardArgument *argument) {
    return launch_index(launch, argument->name) >= 0;
}

/// Whether it reads what the first launch leaves, or runs in its configuration.
static bool follows_first(const BackwardLaunch *launch) {
    bool follows = launch->is_tuned_before;
    for (int i = 0; i < launch->argument_count; i++)
        follows = follows || launch->arguments[i].use == ARGUMENT_SCRATCH;
    return follows;
}

static bool writes_gradient(const BackwardArgument *argument) {
    return argument->use == ARGUMENT_GRADIENT || argument->use == ARGUMENT_RUNNING ||
           argument->use == ARGUMENT_KEPT;
}

/// Whether all that a launch writes is gradients of inputs, each written by no other launch, or scratch.
static bool writes_its_own(const LaunchPlan *plan, int number) {
    const Backward *backward = plan->backward;
    const BackwardLaunch *launch = &backward->launches[number];
    for (int i = 0; i < launch->argument_count; i++) {
        const BackwardArgument *argument = &launch->arguments[i];
        if (argument->use == ARGUMENT_RUNNING || argument->use == ARGUMENT_KEPT ||
            argument->use == ARGUMENT_AMID || argument->is_program_sum)
            return false;
        if (argument->use != ARGUMENT_GRADIENT) continue;
        int of = parameter_find(plan->kernel, str_from(argument->of));
        if (of < 0 || !plan->passed[of]) return false;
        for (int k = 0; k < backward->launch_count; k++)
            if (k != number && launch_has(&backward->launches[k], argument)) return false;
    }
    return true;
}

const char *launch_need_text(Arena *arena, const LaunchPlan *plan, int number) {
    const Backward *backward = plan->backward;
    if (backward->launch_count == 1 || !writes_its_own(plan, number)) return NULL;
    Texts needs = {0};
    Buffer places = buffer_new(arena);
    for (int i = 0; i < backward->whole.argument_count; i++) {
        const BackwardArgument *argument = &backward->whole.arguments[i];
        if (!writes_gradient(argument)) continue;
        bool is_wanted = launch_has(&backward->launches[number], argument);
        for (int k = 1; number == 0 && k < backward->launch_count; k++)
            is_wanted = is_wanted || (follows_first(&backward->launches[k]) &&
                                      launch_has(&backward->launches[k], argument));
        if (is_wanted && argument->use != ARGUMENT_GRADIENT) return NULL;
        if (is_wanted) {
            buffer_printf(&places, "%s%d", needs.count ? ", " : "",
                          need_index(plan, argument->of, needs_before(plan)));
            LIST_PUSH(arena, &needs, need_text(arena, plan, argument->of));
        }
    }
    int gradients = 0;
    for (int i = 0; i < backward->whole.argument_count; i++)
        gradients += writes_gradient(&backward->whole.arguments[i]);
    if (needs.count == 0 || needs.count == gradients) return NULL;  // autograd asks for one of them
    if (needs.count > WRITTEN_OUT)
        return arena_printf(arena, "any(%s.needs_input_grad[i] for i in (%s))", plan->ctx,
                            buffer_text(&places));
    return needs.count == 1 ? needs.items[0]
                            : arena_printf(arena, "%s or %s", needs.items[0], needs.items[1]);
}

const char *gradient_need_text(Arena *arena, const LaunchPlan *plan,
                               const BackwardArgument *gradient) {
    int of = parameter_find(plan->kernel, str_from(gradient->of));
    if (gradient->use != ARGUMENT_GRADIENT || of < 0 || !plan->passed[of]) return NULL;
    for (int k = 0; k < plan->backward->launch_count; k++) {
        const BackwardLaunch *launch = &plan->backward->launches[k];
        int index = launch_index(launch, gradient->name);
        if (index >= 0 && !launch->arguments[index].is_optional) return NULL;
    }
    return need_text(arena, plan, gradient->of);
}

/// Whether its buffer is made as its input is laid out, where autograd asks for it, and nowhere else.
static bool has_plain_buffer(Arena *arena, const LaunchPlan *plan,
                             const BackwardArgument *gradient) {
    int of = parameter_find(plan->kernel, str_from(gradient->of));
    return gradient_need_text(arena, plan, gradient) && !plan->is_part[of] &&
           !(plan->is_indexed[of] && !plan->is_numbered[of]) &&
           !parameter_is_descriptor(plan_parameter(plan, of));
}

const BackwardArgument *gradient_twin(Arena *arena, const LaunchPlan *plan,
                                      const BackwardArgument *gradient) {
    if (!gradient->same_as || !has_plain_buffer(arena, plan, gradient)) return NULL;
    const BackwardLaunch *whole = &plan->backward->whole;
    int index = launch_index(whole, gradient->same_as);
    const BackwardArgument *twin = index < 0 ? NULL : &whole->arguments[index];
    bool is_usable =
        twin && (twin->use == ARGUMENT_UPSTREAM || has_plain_buffer(arena, plan, twin));
    return is_usable ? twin : NULL;
}

bool gradient_is_optional(Arena *arena, const LaunchPlan *plan, const BackwardArgument *gradient) {
    if (gradient->use != ARGUMENT_GRADIENT) return false;
    for (int k = 0; k < plan->backward->launch_count; k++)
        if (launch_has(&plan->backward->launches[k], gradient) && launch_need_text(arena, plan, k))
            return true;
    return false;
}
