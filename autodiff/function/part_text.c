// Views that a kernel reaches around (`x[1:]` and the row before): the Function gets the tensor that they are views of, and its
// gradient has all of the storage.
#include "autodiff/function/part_text.h"

#include "autodiff/emit/call_lines.h"

static const char *name_at(const LaunchPlan *plan, int p) {
    return plan->backward->kernel->function->parameters[p].name;
}

const char *part_launch_text(Arena *arena, const LaunchPlan *plan, const char *parts) {
    Texts places = {0};
    for (int p = 0; p < plan->kernel->parameter_count; p++)
        if (plan->is_part[p])
            LIST_PUSH(arena, &places,
                      arena_printf(arena, "%s=_place_of(%s)", name_at(plan, p), name_at(plan, p)));
    const char *prefix = arena_printf(arena, "%s = dict", parts);
    return arena_printf(arena, "        %s\n",
                        call_lines(arena, prefix, places.items, places.count, 8));
}

const char *part_forward_text(Arena *arena, const LaunchPlan *plan, const char *parts) {
    Buffer out = buffer_new(arena);
    for (int p = 0; p < plan->kernel->parameter_count; p++)
        if (plan->is_part[p])
            buffer_printf(&out, "        %s = _part_of(%s, %s[\"%s\"])\n", name_at(plan, p),
                          name_at(plan, p), parts, name_at(plan, p));
    return buffer_text(&out);
}
