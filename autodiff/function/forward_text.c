// The forward and the launch of an autograd.Function.
#include "autodiff/function/forward_text.h"

#include "autodiff/emit/call_lines.h"
#include "autodiff/emit/emit_layout.h"
#include "autodiff/emit/statements.h"
#include "autodiff/function/alias_text.h"
#include "autodiff/function/descriptor_text.h"
#include "autodiff/function/grid_text.h"
#include "autodiff/function/part_text.h"
#include "autodiff/function/stored_text.h"
#include "autodiff/function/tape_text.h"
#include "autodiff/function/warps_text.h"
#include "autodiff/layouts/expanded_inputs.h"
#include "autodiff/layouts/upstream_strides.h"
#include "autodiff/plan/absent.h"
#include "autodiff/plan/aliases.h"
#include "autodiff/plan/launch_plan.h"
#include "autodiff/plan/needs.h"
#include "autodiff/plan/parts.h"
#include "autodiff/plan/wrappers.h"
#include <string.h>

/// Saves what the backward reads. The first `read` of `saved` are tensors that the kernel only reads: one that the launch
/// overwrites under another name is saved as it was before.
static void save_tensors(Arena *arena, Buffer *out, const LaunchPlan *plan, const Texts *saved,
                         int read, const char *launch) {
    const char *kept = plan_name(arena, plan, "read");
    Texts all = {0};
    if (read) LIST_PUSH(arena, &all, arena_printf(arena, "*%s", kept));
    for (int i = read; i < saved->count; i++) LIST_PUSH(arena, &all, saved->items[i]);
    if (read) {
        Texts written = {0}, reads = {0};
        for (int i = 0; i < read; i++) LIST_PUSH(arena, &reads, saved->items[i]);
        for (int p = 0; p < plan->kernel->parameter_count; p++)
            if (plan->passed[p] && parameter_is_output(plan_parameter(plan, p)))
                LIST_PUSH(arena, &written, plan_parameter(plan, p)->name);
        const char *lists[] = {arena_printf(arena, "(%s)", list_text(arena, &reads)),
                               arena_printf(arena, "(%s)", list_text(arena, &written))};
        bool is_indexed = false;
        for (int i = 0; i < read; i++) is_indexed |= indexed_is(plan, saved->items[i]);
        const char *saving = is_indexed ? "_saved_with_room" : "_saved_inputs";
        statement(out, arena_printf(arena, "%s = ", kept),
                  call_lines_before(arena, saving, lists, 2, 8, strlen(kept) + 3));
    }
    statement(out, "", launch);
    buffer_puts(out, alias_unstored_text(arena, plan));
    Texts kept_all = {0};
    LIST_PUSH(arena, &kept_all, plan->ctx);
    for (LIST_EACH(int, i, all)) LIST_PUSH(arena, &kept_all, all.items[i]);
    statement(out, "", call_lines(arena, "_save", kept_all.items, kept_all.count, 8));
}

/// Autograd is to say where it has no gradient of an output: no zeros are made but where a kernel needs them.
static void absent_forward(Arena *arena, Buffer *out, const LaunchPlan *plan,
                           const Texts *outputs) {
    if (!upstreams_may_be_absent(plan->backward)) return;
    statement(out, plan->ctx, ".set_materialize_grads(False)");
    Texts forms = {0};
    for (int i = 0; i < outputs->count; i++) {
        const BackwardArgument *upstream = upstream_of(plan->backward, outputs->items[i]);
        if (upstream && !upstream->is_optional)
            LIST_PUSH(arena, &forms, arena_printf(arena, "_form_of(%s)", outputs->items[i]));
    }
    if (!forms.count) return;
    const char *target = arena_printf(arena, "%s.forms = ", plan->ctx);
    if (forms.count == 1)
        statement(out, target, arena_printf(arena, "(%s,)", forms.items[0]));
    else
        statement(out, "", tuple_lines(arena, target, forms.items, forms.count, 8));
}

void class_forward(Arena *arena, Buffer *out, const LaunchPlan *plan, const KeptNames *kept) {
    const Texts *scalars = &kept->scalars, *outputs = &kept->outputs, *fixed = &kept->fixed;
    Texts parameters = {0}, call = {0};
    LIST_PUSH(arena, &parameters, plan->ctx);
    LIST_PUSH(arena, &parameters, plan->grid);
    if (plan->has_options) LIST_PUSH(arena, &parameters, plan->options);
    const char *described = plan_has_descriptors(plan) ? plan_name(arena, plan, "described") : NULL;
    if (described) LIST_PUSH(arena, &parameters, described);
    const char *parts = plan_has_parts(plan) ? plan_name(arena, plan, "parts") : NULL;
    if (parts) LIST_PUSH(arena, &parameters, parts);
    for (int p = 0; p < plan->kernel->parameter_count; p++) {
        if (!plan->passed[p]) continue;
        const Parameter *parameter = plan_parameter(plan, p);
        LIST_PUSH(arena, &parameters, parameter->name);
        if (!parameter_is_descriptor(parameter))
            LIST_PUSH(arena, &call, arena_printf(arena, "%s=%s", parameter->name, parameter->name));
    }
    if (described) LIST_PUSH(arena, &call, arena_printf(arena, "**%s", described));
    buffer_puts(out, "    @staticmethod\n    ");
    buffer_printf(
        out, "%s:\n",
        call_lines_before(arena, "def forward", parameters.items, parameters.count, 4, 1));
    const BackwardLaunch *reversed = &plan->backward->whole;
    buffer_puts(out, scalar_forms_text(arena, plan));
    if (parts) buffer_puts(out, part_forward_text(arena, plan, parts));
    buffer_puts(out, alias_check_text(arena, plan));
    for (int i = 0; i < reversed->argument_count; i++)
        if (reversed->arguments[i].use == ARGUMENT_BEFORE ||
            reversed->arguments[i].use == ARGUMENT_AMID)
            statement(out, arena_printf(arena, "%s = ", reversed->arguments[i].name),
                      arena_printf(arena, "%s(%s)",
                                   indexed_is(plan, reversed->arguments[i].of) ? "_saved_around"
                                                                               : "_saved_copy",
                                   reversed->arguments[i].of));
    if (plan->fixes_grid) {
        const char *given = plan_name(arena, plan, "given");
        buffer_puts(out, grid_fixed_text(arena, plan, given, call.items, call.count));
        if (!plan->positional) call = (Texts){0};
        if (!plan->positional) LIST_PUSH(arena, &call, arena_printf(arena, "**%s", given));
    }
    buffer_puts(out, grid_check_text(arena, plan, call.items, call.count));
    StepsPlace place = {plan->ctx, plan->grid, needs_before(plan), 8, false};
    buffer_puts(out, new_check_text(arena, plan, &place));
    buffer_puts(out, steps_check_text(arena, plan, &place));
    buffer_puts(out, saved_rows_text(arena, plan));
    for (int p = 0; p < plan->kernel->parameter_count; p++)
        if (plan->saved[p])
            LIST_PUSH(arena, &call,
                      arena_printf(arena, "%s=%s", plan_parameter(plan, p)->name,
                                   plan_parameter(plan, p)->name));
    const char *launch = arena_printf(arena, "%s[%s]", plan->callee, plan->grid);
    for (int p = 0, i = 0; p < plan->positional && plan->passed[p] && i < call.count; p++)
        if (!parameter_is_descriptor(plan_parameter(plan, p)))
            call.items[i++] = plan_parameter(plan, p)->name;
    if (plan->has_options) LIST_PUSH(arena, &call, arena_printf(arena, "**%s", plan->options));
    save_tensors(arena, out, plan, &kept->saved, kept->read,
                 call_lines(arena, launch, call.items, call.count, 8));
    if (plan->has_options)
        statement(out, "",
                  arena_printf(arena, "%s.grid, %s.options = %s, %s", plan->ctx, plan->ctx,
                               plan->grid, plan->options));
    else
        statement(out, "", arena_printf(arena, "%s.grid = %s", plan->ctx, plan->grid));
    if (parts) statement(out, "", arena_printf(arena, "%s.parts = %s", plan->ctx, parts));
    if (described) buffer_puts(out, descriptor_layout_text(arena, plan, described));
    if (scalars->count)
        statement(out, "",
                  scalars->count == 1
                      ? arena_printf(arena, "%s.scalars = %s", plan->ctx, scalars->items[0])
                      : tuple_lines(arena, arena_printf(arena, "%s.scalars = ", plan->ctx),
                                    scalars->items, scalars->count, 8));
    Texts strides = {0};
    for (int i = 0; i < outputs->count; i++)
        LIST_PUSH(arena, &strides, arena_printf(arena, "_stride_of(%s)", outputs->items[i]));
    const char *target = arena_printf(arena, "%s.strides = ", plan->ctx);
    if (strides.count == 1) LIST_PUSH(arena, &strides, "");
    if (strides.count == 2 && !*strides.items[1])
        statement(out, target, arena_printf(arena, "(%s,)", strides.items[0]));
    else
        statement(out, "", tuple_lines(arena, target, strides.items, strides.count, 8));
    buffer_puts(out, indexed_rooms_text(arena, plan, plan->ctx, 8));
    statement(out, "",
              call_lines(arena, "_mark_written",
                         (const char *[]){plan->ctx,
                                          arena_printf(arena, "(%s)", list_text(arena, outputs)),
                                          arena_printf(arena, "(%s)", list_text(arena, fixed))},
                         fixed->count ? 3 : 2, 8));
    absent_forward(arena, out, plan, outputs);
    if (plan->backward->is_untuned)
        statement(out, plan->ctx, arena_printf(arena, ".tuned = _tuned(%s)", plan->callee));
    if (outputs->count == 1)
        statement(out, "return ", outputs->items[0]);
    else
        statement(out, "", tuple_lines(arena, "return ", outputs->items, outputs->count, 8));
}

/// The tensors that a launch passes besides one, for a tuple.
static const char *other_tensors(Arena *arena, const LaunchPlan *plan, int parameter) {
    Buffer out = buffer_new(arena);
    int count = 0;
    for (int p = 0; p < plan->kernel->parameter_count; p++) {
        const Parameter *other = plan_parameter(plan, p);
        bool is_descriptor = parameter_is_descriptor(other);
        if (p == parameter || !plan->passed[p] || !(parameter_is_pointer(other) || is_descriptor))
            continue;
        buffer_printf(&out, is_descriptor ? "%s_base_of(%s)" : "%s%s", count++ ? ", " : "",
                      other->name);
    }
    if (count == 1) buffer_putc(&out, ',');
    return buffer_text(&out);
}

void class_launch(Arena *arena, Buffer *out, const LaunchPlan *plan) {
    Texts parameters = {0}, call = {0}, written = {0}, reached = {0}, passed = {0};
    const char *class = plan_name(arena, plan, "cls"), *results = plan_name(arena, plan, "results");
    LIST_PUSH(arena, &parameters, class);
    LIST_PUSH(arena, &parameters, plan->grid);
    LIST_PUSH(arena, &call, plan->grid);
    if (plan->has_options) LIST_PUSH(arena, &call, plan->options);
    Texts described = {0};
    for (int p = 0; p < plan->kernel->parameter_count; p++) {
        const Parameter *parameter = plan_parameter(plan, p);
        if (plan->passed[p] && parameter_is_descriptor(parameter))
            LIST_PUSH(arena, &described,
                      arena_printf(arena, "%s=%s", parameter->name, parameter->name));
    }
    if (described.count) LIST_PUSH(arena, &call, plan_name(arena, plan, "described"));
    const char *parts = plan_has_parts(plan) ? plan_name(arena, plan, "parts") : NULL;
    if (parts) LIST_PUSH(arena, &call, parts);
    for (int p = 0; p < plan->kernel->parameter_count; p++) {
        if (!plan->passed[p]) continue;
        const Parameter *parameter = plan_parameter(plan, p);
        const char *tensor = parameter_is_descriptor(parameter)
                                 ? arena_printf(arena, "_base_of(%s)", parameter->name)
                                 : parameter->name;
        Str given = plan->kernel->parameters[p].default_text;
        LIST_PUSH(arena, &passed, arena_printf(arena, "%s=%s", parameter->name, parameter->name));
        LIST_PUSH(arena, &parameters,
                  given.size ? arena_printf(arena, "%s=%.*s", parameter->name, STR_ARGS(given))
                             : parameter->name);
        const char *stored =
            parameter_is_output(parameter) ? stored_output_text(arena, plan, p) : NULL;
        if (stored) {
            LIST_PUSH(arena, &reached, arena_printf(arena, "%s = ", tensor));
            LIST_PUSH(arena, &reached,
                      parameter->is_loaded ? arena_printf(arena, "_reached(%s, %s)", tensor, stored)
                                           : arena_printf(arena, "_reached(%s, %s, (%s))", tensor,
                                                          stored, other_tensors(arena, plan, p)));
        }
        LIST_PUSH(arena, &call,
                  parameter_is_output(parameter) ? arena_printf(arena, "_own(%s)", tensor)
                  : plan->is_part[p]             ? arena_printf(arena, "_whole_of(%s)", tensor)
                                                 : tensor);
        if (parameter_is_output(parameter)) LIST_PUSH(arena, &written, tensor);
    }
    if (plan->has_options)
        LIST_PUSH(arena, &parameters, arena_printf(arena, "**%s", plan->options));
    buffer_puts(out, "    @classmethod\n    ");
    buffer_printf(out, "%s:\n",
                  call_lines_before(arena, "def launch", parameters.items, parameters.count, 4, 1));
    statement(out, "\"\"\"Takes what the kernel takes; what it writes to may be views.\"\"\"", "");
    if (described.count)
        statement(out, "",
                  call_lines(arena,
                             arena_printf(arena, "%s = dict", plan_name(arena, plan, "described")),
                             described.items, described.count, 8));
    if (parts) buffer_puts(out, part_launch_text(arena, plan, parts));
    if (reached.count && plan->fixes_grid)
        buffer_puts(out, grid_fixed_text(arena, plan, plan_name(arena, plan, "given"), passed.items,
                                         passed.count));
    for (int i = 0; i < reached.count; i += 2)
        layout_statement(out, 8, reached.items[i], reached.items[i + 1], "");
    statement(out, arena_printf(arena, "%s = ", results),
              call_lines(arena, arena_printf(arena, "%s.apply", class), call.items, call.count, 8));
    statement(out, "return ",
              arena_printf(arena, "_written((%s), %s)", list_text(arena, &written), results));
    buffer_putc(out, '\n');
}
