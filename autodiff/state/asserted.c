// A backward in, a clause for each tensor whose elements a call has to keep apart out.
#include "autodiff/state/asserted.h"

#include <string.h>

#include "analysis/host/launch.h"

/// Whether programs add to its gradient: then they may meet.
static bool is_added_to(const Backward *backward, const char *of) {
    for (int i = 0; i < backward->gradient_count; i++)
        if (strcmp(backward->gradients[i].input, of) == 0) return backward->gradients[i].is_atomic;
    return false;
}

bool step_check_is_made(const Backward *backward, const StepCheck *check, bool has_launches) {
    if (check->is_of_stores) return check->range_count > 0;
    return (check->is_of_windows || !has_launches) && !is_added_to(backward, check->of) &&
           check->range_count > 0;
}

/// The step of `(step, length)`.
static Str step_of(const char *range) {
    int depth = 0;
    for (size_t at = 1; range[at]; at++) {
        depth += (range[at] == '(') - (range[at] == ')');
        if (range[at] == ',' && depth == 0) return (Str){range + 1, at - 1};
    }
    return str_from(range);
}

static void put_steps(Buffer *out, const StepCheck *check) {
    const char *before = " (in steps of ";
    for (int i = 0; i < check->range_count; i++) {
        Str step = step_of(check->ranges[i]);
        buffer_printf(out, "%s%.*s", before, (int)step.size, step.data);
        before = i + 2 < check->range_count ? ", " : " and ";
    }
    buffer_puts(out, ")");
}

static void put_clause(Buffer *out, const StepCheck *check) {
    if (check->other && check->programs)
        buffer_printf(out, "no element of `%s` is stored by two programs", check->of);
    else if (check->other)
        buffer_printf(out, "no element of `%s` is stored by two statements", check->of);
    else if (check->is_of_stores)
        buffer_printf(out, "no element of `%s` is stored twice", check->of);
    else
        buffer_printf(out, "no two rows of `%s` have an element in common", check->of);
    put_steps(out, check);
    if (*check->guard) buffer_printf(out, " where %s", check->guard);
}

const char *asserted_words(Arena *arena, const Backward *backward) {
    const Function *forward = backward->kernel->function;
    bool has_launches = host_launches(arena, forward->definition, forward).count > 0;
    Buffer out = buffer_new(arena);
    for (int i = 0; i < backward->step_count; i++) {
        const StepCheck *check = &backward->steps[i];
        if (!step_check_is_made(backward, check, has_launches)) continue;
        if (out.size) buffer_puts(&out, "; ");
        put_clause(&out, check);
    }
    return out.size ? buffer_text(&out) : NULL;
}
