// Axes of the grid along which a backward is right for one program, in words and as a check of the launch.
#include "autodiff/function/grid_text.h"

#include "autodiff/emit/call_lines.h"
#include "autodiff/plan/launch_plan.h"

/// `1, 2` with `last` between the last two.
static const char *axes_text(Arena *arena, const Backward *backward, const char *last) {
    const char *text = "";
    for (int axis = PROGRAM_AXES - 1, count = 0; axis >= 0; axis--)
        if (backward->single_axes[axis]) {
            const char *between = count == 0 ? "" : count == 1 ? last : ", ";
            text = arena_printf(arena, "%d%s%s", axis, between, text);
            count++;
        }
    return text;
}

const char *grid_comment(Arena *arena, const Backward *backward, WrapperKind wrapper) {
    const char *axes = axes_text(arena, backward, " and ");
    if (!*axes || wrapper == WRAPPER_AUTOGRAD) return "";
    return arena_printf(arena, "    # grid: the forward had one program along %s %s\n",
                        strchr(axes, ' ') ? "axes" : "axis", axes);
}

const char *grid_check_of(Arena *arena, const LaunchPlan *plan, const char *grid, const char *given,
                          int indent) {
    const char *axes = axes_text(arena, plan->backward, ", ");
    if (!*axes) return "";
    const char *arguments[] = {arena_printf(arena, strchr(axes, ' ') ? "(%s)" : "(%s,)", axes),
                               plan->callee, grid, given};
    return arena_printf(arena, "%*s%s\n", indent, "",
                        call_lines(arena, "_check_single", arguments, 4, indent));
}

const char *grid_check_text(Arena *arena, const LaunchPlan *plan, const char *const *given,
                            int count) {
    const char *arguments = plan->fixes_grid ? plan_name(arena, plan, "given")
                                             : call_lines(arena, "dict", given, count, 12);
    return grid_check_of(arena, plan, plan->grid, arguments, 8);
}

const char *grid_fixed_text(Arena *arena, const LaunchPlan *plan, const char *given,
                            const char *const *call, int count) {
    Texts arguments = {0};
    for (int i = 0; i < count; i++) LIST_PUSH(arena, &arguments, call[i]);
    // A grid may ask for what the launch leaves to the kernel's defaults.
    for (int p = 0; p < plan->kernel->parameter_count; p++) {
        const ParameterDefinition *parameter = &plan->kernel->parameters[p];
        if (plan->passed[p] || !parameter->default_text.size ||
            kernel_tunes(plan->kernel, parameter->name))
            continue;
        LIST_PUSH(arena, &arguments,
                  arena_printf(arena, "%.*s=%.*s", STR_ARGS(parameter->name),
                               STR_ARGS(parameter->default_text)));
    }
    const char *head = arena_printf(arena, "%s = dict", given);
    return arena_printf(arena, "        %s\n        %s = _grid_now(%s, %s, %s)\n",
                        call_lines(arena, head, arguments.items, arguments.count, 8), plan->grid,
                        plan->callee, plan->grid, given);
}
