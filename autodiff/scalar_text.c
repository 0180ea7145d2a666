// Scalars with a gradient in the emitted Python: tensors as a kernel's numbers, a buffer of the programs' sums, what becomes of it.
#include <string.h>

#include "analysis/launch.h"
#include "autodiff/emit_layout.h"
#include "autodiff/module_text.h"

const char *scalar_comment(Arena *arena, const BackwardLaunch *launch) {
    Buffer out = buffer_new(arena);
    for (int i = 0; i < launch->argument_count; i++)
        if (launch->arguments[i].is_program_sum)
            buffer_printf(&out,
                          "    # %s: float32 zeros, one a program; the gradient is their sum\n",
                          launch->arguments[i].name);
    return buffer_text(&out);
}

const char *scalar_forms_text(Arena *arena, const BackwardLaunch *launch) {
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
    layout_statement(&out, 8, "ctx.forms = ",
                     arena_printf(arena, "(%s%s)", buffer_text(&forms), count == 1 ? "," : ""), "");
    buffer_puts(&out, buffer_text(&numbers));
    return buffer_text(&out);
}

const char *scalar_form(Arena *arena, const BackwardLaunch *launch,
                        const BackwardArgument *argument) {
    int index = 0;
    for (const BackwardArgument *before = launch->arguments; before < argument; before++)
        index += before->is_program_sum;
    return arena_printf(arena, "ctx.forms[%d]", index);
}

/* ---- the launcher ---- */

const char *scalar_argument_text(Arena *arena, const Module *module, const LaunchPlan *plan,
                                 const LaunchSite *site, int parameter) {
    const char *name = plan->backward->kernel->function->parameters[parameter].name;
    const BackwardArgument *gradient = launch_argument(plan->backward, ARGUMENT_GRADIENT, name);
    if (!gradient || !gradient->is_program_sum) return NULL;
    LaunchTensor tensor = launch_tensor(arena, module, site, parameter);
    return tensor.name ? tensor.name : tensor.text;
}

static bool is_launch_in(const LaunchSite *site, Range range) {
    return site->launcher && site->range.start >= range.start && site->range.end <= range.end;
}

typedef LIST(LaunchTensor) Tensors;

static void add_tensors_of(Arena *arena, const Module *module, const LaunchPlan *plan,
                           const LaunchSite *site, Tensors *all) {
    for (int p = 0; p < site->kernel->parameter_count; p++) {
        if (!scalar_argument_text(arena, module, plan, site, p)) continue;
        LaunchTensor tensor = launch_tensor(arena, module, site, p);
        bool known = !tensor.name;
        for (LIST_EACH(int, i, *all))
            known |= tensor.name && all->items[i].start == tensor.start &&
                     strcmp(all->items[i].name, tensor.name) == 0;
        if (!known) LIST_PUSH(arena, all, tensor);
    }
}

const char *scalar_bindings_text(Arena *arena, const Module *module, Range range,
                                 const LaunchPlan *plans, int plan_count, uint32_t from,
                                 uint32_t to) {
    Tensors all = {0};
    for (LIST_EACH(int, i, module->launches)) {
        const LaunchSite *site = &module->launches.items[i];
        for (int k = 0; is_launch_in(site, range) && k < plan_count; k++)
            if (plans[k].kernel == site->kernel)
                add_tensors_of(arena, module, &plans[k], site, &all);
    }
    Buffer out = buffer_new(arena);
    for (uint32_t at = from, next; at < to; at = next) {
        next = to;
        for (LIST_EACH(int, i, all)) {
            const LaunchTensor *tensor = &all.items[i];
            if (tensor->start > at && tensor->start < next) next = tensor->start;
            if (tensor->start != at) continue;
            buffer_puts(&out, tensor->binding);
            at = tensor->end;
        }
        buffer_add(&out, module->source->text.data + at, next - at);
    }
    return buffer_text(&out);
}
