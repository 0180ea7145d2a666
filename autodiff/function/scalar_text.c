// Scalars with a gradient in the emitted Python: tensors as a kernel's numbers, a buffer of the programs' sums, what becomes of it.
#include "autodiff/function/scalar_text.h"

#include <string.h>

#include "analysis/host/launch.h"
#include "autodiff/emit/emit_layout.h"
#include "autodiff/plan/launch_plan.h"

const char *scalar_comment(Arena *arena, const BackwardLaunch *launch) {
    Buffer out = buffer_new(arena);
    for (int i = 0; i < launch->argument_count; i++)
        if (launch->arguments[i].is_program_sum)
            buffer_printf(&out,
                          "    # %s: float32 zeros, one a program; the gradient is their sum\n",
                          launch->arguments[i].name);
        else if (launch->arguments[i].is_parts)
            buffer_printf(
                &out, "    # %s: float32 zeros, `most_slices` times; the gradient is their sum\n",
                launch->arguments[i].name);
    return buffer_text(&out);
}

const char *scalar_forms_text(Arena *arena, const LaunchPlan *plan) {
    const BackwardLaunch *launch = &plan->backward->whole;
    Buffer forms = buffer_new(arena), numbers = buffer_new(arena);
    int count = 0;
    for (int i = 0; i < launch->argument_count; i++) {
        const BackwardArgument *argument = &launch->arguments[i];
        if (!argument->is_program_sum) continue;
        buffer_printf(&forms, "%s_form_of(%s)", count++ ? ", " : "", argument->of);
        buffer_printf(&numbers, "        %s = " LAUNCH_NUMBER_OF "(%s)\n", argument->of,
                      argument->of);
    }
    if (!count) return "";
    Buffer out = buffer_new(arena);
    layout_statement(&out, 8, arena_printf(arena, "%s.forms = ", plan->ctx),
                     arena_printf(arena, "(%s%s)", buffer_text(&forms), count == 1 ? "," : ""), "");
    buffer_puts(&out, buffer_text(&numbers));
    return buffer_text(&out);
}

const char *scalar_form(Arena *arena, const LaunchPlan *plan, const BackwardLaunch *launch,
                        const BackwardArgument *argument) {
    int index = 0;
    for (const BackwardArgument *before = launch->arguments; before < argument; before++)
        index += before->is_program_sum;
    return arena_printf(arena, "%s.forms[%d]", plan->ctx, index);
}
