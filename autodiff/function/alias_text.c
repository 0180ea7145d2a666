// Tensors of a launch that may share memory: which pairs the launchers leave open, and the check of them in a Function.
#include "autodiff/function/alias_text.h"

#include <string.h>

#include "autodiff/emit/call_lines.h"
#include "autodiff/plan/aliases.h"
#include "autodiff/plan/launch_plan.h"
#include "autodiff/tape/alias.h"

enum { LINE_LIMIT = 88 };

/// A dictionary display; one item a line where it is too long for a line of its own.
static const char *dictionary(Arena *arena, const Texts *items) {
    enum { INDENT = 12 };
    Buffer line = buffer_new(arena), lines = buffer_new(arena);
    buffer_puts(&lines, "{\n");
    for (int i = 0; i < items->count; i++) {
        buffer_printf(&line, "%s%s", i ? ", " : "{", items->items[i]);
        buffer_printf(&lines, "%*s%s,\n", INDENT + 4, "", items->items[i]);
    }
    buffer_printf(&lines, "%*s}", INDENT, "");
    if (!items->count) return "{}";
    return line.size + INDENT + 2 > LINE_LIMIT ? buffer_text(&lines)
                                               : arena_printf(arena, "%s}", buffer_text(&line));
}

/// Parameters that the derivation took for one.
static const char *joined_text(Arena *arena, const LaunchPlan *plan) {
    Buffer out = buffer_new(arena);
    for (int p = 0; p < plan->kernel->parameter_count; p++) {
        Texts same = {0};
        for (int q = 0; q < plan->kernel->parameter_count; q++)
            if (plan_is_joined(plan, q) && plan->backward->joined[q] == p)
                LIST_PUSH(arena, &same,
                          arena_printf(arena, "%s=%s", plan_parameter(plan, q)->name,
                                       plan_parameter(plan, q)->name));
        if (!same.count) continue;
        const char *name = plan_parameter(plan, p)->name;
        LIST_PUSH(arena, &same, arena_printf(arena, "%s=%s", name, name));
        buffer_printf(&out, "        %s\n",
                      call_lines(arena, "_check_same", same.items, same.count, 8));
    }
    return buffer_text(&out);
}

const char *alias_check_text(Arena *arena, const LaunchPlan *plan) {
    const Function *forward = plan->backward->kernel->function;
    int count = plan->kernel->parameter_count;
    Texts written = {0}, read = {0}, in_place = {0};
    for (int p = 0; p < count; p++) {
        const char *name = plan_parameter(plan, p)->name;
        if (!plan->is_checked[p]) continue;
        const char *flag = plan->stored_if[p];
        const char *value = flag ? arena_printf(arena, "%s if %s else None", name, flag) : name;
        const char *item = arena_printf(arena, "\"%s\": %s", name, value);
        if (plan_is_written(plan, p))
            LIST_PUSH(arena, &written, item);
        else
            LIST_PUSH(arena, &read, item);
        for (int w = 0; w < count && !plan_is_written(plan, p) && !plan->is_part[p]; w++) {
            const char *condition;
            if (!plan->is_checked[w] || !plan_is_written(plan, w)) continue;
            if (!alias_reads_first(arena, forward, w, p, &condition)) continue;
            LIST_PUSH(arena, &in_place,
                      arena_printf(arena, "(\"%s\", \"%s\"): %s", plan_parameter(plan, w)->name,
                                   name, condition ? condition : "True"));
        }
    }
    const char *joined = joined_text(arena, plan);
    if (!written.count) return joined;
    const char *arguments[] = {dictionary(arena, &written), dictionary(arena, &read),
                               dictionary(arena, &in_place)};
    return arena_printf(arena, "%s        %s\n", joined,
                        call_lines(arena, "_check_disjoint", arguments, in_place.count ? 3 : 2, 8));
}

const char *alias_unstored_text(Arena *arena, const LaunchPlan *plan) {
    Buffer out = buffer_new(arena);
    for (int p = 0; p < plan->kernel->parameter_count; p++) {
        const char *name = plan_parameter(plan, p)->name;
        const char *read = plan_only_read(arena, plan, p);
        if (read)
            buffer_printf(&out, "        %s = None if %s else %s\n", read, plan->stored_if[p],
                          name);
        if (plan->stored_if[p])
            buffer_printf(&out, "        %s = %s if %s else None\n", name, name,
                          plan->stored_if[p]);
    }
    return buffer_text(&out);
}
