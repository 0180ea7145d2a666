// Axes of the grid along which a backward is right for one program, in words and as a check of the launch.
#include "autodiff/module_text.h"

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

const char *grid_check_text(Arena *arena, const LaunchPlan *plan, const char *const *given,
                            int count) {
    const char *axes = axes_text(arena, plan->backward, ", ");
    if (!*axes) return "";
    const char *arguments[] = {
        arena_printf(arena, strchr(axes, ' ') ? "(%s)" : "(%s,)", axes),
        arena_printf(arena, "%.*s", STR_ARGS(plan->kernel->name)),
        "grid",
        call_lines(arena, "dict", given, count, 12),
    };
    return arena_printf(arena, "        %s\n", call_lines(arena, "_check_single", arguments, 4, 8));
}
