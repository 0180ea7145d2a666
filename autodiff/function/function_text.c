// The autograd.Function around one launch, and its backward.
#include "autodiff/function/function_text.h"

#include <string.h>

#include "autodiff/emit/call_lines.h"
#include "autodiff/emit/emit_layout.h"
#include "autodiff/emit/statements.h"
#include "autodiff/function/alias_text.h"
#include "autodiff/function/descriptor_text.h"
#include "autodiff/function/forward_text.h"
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

static bool in_names(const char *const *names, int count, const char *name) {
    for (int i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0) return true;
    return false;
}

/// Without any upstream gradient there is none of an input; what a kernel needs is zeros where autograd has none.
static void absent_backward(Arena *arena, Buffer *out, const LaunchPlan *plan,
                            const Texts *outputs) {
    if (!upstreams_may_be_absent(plan->backward)) return;
    Texts names = {0};
    Buffer none = buffer_new(arena);
    int results = needs_before(plan), forms = 0;
    for (int p = 0; p < plan->kernel->parameter_count; p++) results += plan->passed[p];
    for (int i = 0; i < outputs->count; i++) {
        const BackwardArgument *upstream = upstream_of(plan->backward, outputs->items[i]);
        if (!upstream) continue;
        buffer_printf(&none, "%s%s is None", names.count ? " and " : "", upstream->name);
        LIST_PUSH(arena, &names, upstream->name);
    }
    if (none.size + 12 > LINE_LIMIT) {
        const char *list = list_text(arena, &names);
        none = buffer_new(arena);
        buffer_printf(&none, "all(gradient is None for gradient in (%s))", list);
    }
    layout_statement(out, 8, "if ", buffer_text(&none), ":");
    statement_at(out, 12, "return ", arena_printf(arena, "(None,) * %d", results));
    for (int i = 0; i < outputs->count; i++) {
        const BackwardArgument *upstream = upstream_of(plan->backward, outputs->items[i]);
        if (!upstream || upstream->is_optional) continue;
        statement(
            out, arena_printf(arena, "%s = ", upstream->name),
            arena_printf(arena, "_or_zeros(%s, %s.forms[%d])", upstream->name, plan->ctx, forms++));
    }
}

/// `a, b, c = source`, one name a line where that is too long.
static void unpack(Buffer *out, const Texts *names, const char *source) {
    const char *line = arena_printf(out->arena, "%s = %s", list_text(out->arena, names), source);
    if (strlen(line) + 8 <= LINE_LIMIT) {
        statement(out, line, "");
        return;
    }
    statement(out, "(", "");
    for (int i = 0; i < names->count; i++) buffer_printf(out, "            %s,\n", names->items[i]);
    statement(out, ") = ", source);
}

static int name_index(const Texts *names, const char *name) {
    int index = 0;
    while (index < names->count && strcmp(names->items[index], name) != 0) index++;
    return index;
}

/// The gradient of what an output held before the launch, made where autograd asks for it.
static const char *gradient_before_text(Arena *arena, const LaunchPlan *plan,
                                        const BackwardArgument *kept, const Texts *outputs) {
    const BackwardArgument *upstream = launch_argument(plan->backward, ARGUMENT_UPSTREAM, kept->of);
    int index = name_index(outputs, kept->of);
    const char *arguments[] = {
        upstream ? upstream->name : arena_printf(arena, "_d%s", kept->of),
        arena_printf(arena, "%s.strides[%d]", plan->ctx, index),
        need_text(arena, plan, kept->of),
    };
    return call_lines_before(arena, "_gradient_before", arguments, 3, 8, strlen(kept->name) + 3);
}

/// The gradient of the tensor that a parameter's is a view of, in the class's backward.
static const char *whole_name(Arena *arena, const LaunchPlan *plan,
                              const BackwardArgument *gradient) {
    return plan_name(arena, plan, arena_printf(arena, "whole_%s", gradient->name));
}

/// Where an output stands among those that the class returns.
static int output_index(const LaunchPlan *plan, const char *name) {
    int index = 0;
    for (int p = 0; strcmp(plan_parameter(plan, p)->name, name) != 0; p++)
        index += plan->passed[p] && parameter_is_output(plan_parameter(plan, p));
    return index;
}

/// The number of sums that a gradient's parts come in, or NULL.
static const char *parts_text(Arena *arena, const LaunchPlan *plan,
                              const BackwardArgument *gradient) {
    for (int i = 0; gradient->is_parts && i < plan->backward->launch_count; i++)
        if (launch_index(&plan->backward->launches[i], gradient->name) >= 0)
            return slices_name(arena, plan, i);
    return NULL;
}

/// Whether programs add to it: then they may meet.
static bool is_added_to(const LaunchPlan *plan, const BackwardArgument *gradient) {
    const Backward *backward = plan->backward;
    for (int i = 0; i < backward->gradient_count; i++)
        if (strcmp(backward->gradients[i].input, gradient->of) == 0)
            return backward->gradients[i].is_atomic;
    return gradient->is_float32;
}

/// Makes the memory of a gradient.
static void class_gradient(Arena *arena, Buffer *out, const LaunchPlan *plan,
                           const BackwardArgument *gradient, int indent) {
    const char *target = arena_printf(arena, "%s = ", gradient->name);
    const char *parts = parts_text(arena, plan, gradient);
    int of = parameter_find(plan->kernel, str_from(gradient->of));
    if (of >= 0 && plan->is_part[of]) {
        target = arena_printf(arena, "%s, %s", whole_name(arena, plan, gradient), target);
        statement_at(out, indent, target,
                     arena_printf(arena, "_gradient_around(%s, %s.parts[\"%s\"]%s%s%s)",
                                  gradient->of, plan->ctx, gradient->of,
                                  gradient->is_float32 ? ", accumulate=True" : "",
                                  parts ? ", slices=" : "", parts ? parts : ""));
        return;
    }
    const char *stored = stored_text(arena, plan, gradient);
    bool is_indexed = of >= 0 && plan->is_indexed[of];
    if (parts) {
        const char *alone = gradient->alone ? grid_text_of(arena, plan, gradient->alone) : NULL;
        if (alone) stored = arena_printf(arena, "alone=%s", alone);
        layout_statement(out, indent, target,
                         arena_printf(arena, "%s(%s, %s%s%s)",
                                      is_indexed ? "_sums_within" : "_partial_sums", gradient->of,
                                      parts, stored ? ", " : "", stored ? stored : ""),
                         "");
        return;
    }
    const BackwardArgument *twin = gradient_twin(arena, plan, gradient);
    const char *apart =
        stored || is_added_to(plan, gradient) ? NULL : apart_text(arena, plan, gradient);
    if (!stored) stored = stored_by_all_text(arena, plan, gradient);
    const char *filled = filled_text(arena, plan, gradient);
    if (filled) {
        target = arena_printf(arena, "%s, %s = ", gradient->name, plan_name(arena, plan, "fills"));
        layout_statement(
            out, indent, target,
            arena_printf(arena, "%s(%s, %s%s%s)",
                         is_indexed && !plan->is_numbered[of] ? "_filled_within" : "_filled_buffer",
                         gradient->of, filled, apart ? ", " : "", apart ? apart : ""),
            "");
        return;
    }
    const char *call = arena_printf(
        arena, "%s(%s%s%s%s%s%s)", is_indexed ? "_gradient_within" : "_gradient_buffer",
        gradient->of, gradient->is_float32 ? ", accumulate=True" : "", stored ? ", " : "",
        stored ? stored : "", apart ? ", " : "", apart ? apart : "");
    bool is_upstream = twin && twin->use == ARGUMENT_UPSTREAM;
    if (is_upstream && stored)
        call = arena_printf(arena, "_passed_on(%s, %s.strides[%d], %s, %s)", twin->name, plan->ctx,
                            output_index(plan, twin->of), gradient->of, stored);
    else if (twin && !is_upstream)
        call = arena_printf(arena, "_same_buffer(%s, %s, %s%s%s)", twin->name, twin->of,
                            gradient->of, stored ? ", " : "", stored ? stored : "");
    layout_statement(out, indent, target, call, "");
}

/// The same, where autograd asks for the gradient. `above`: what is asked for already, or NULL.
static void class_gradient_asked(Arena *arena, Buffer *out, const LaunchPlan *plan,
                                 const BackwardArgument *gradient, const char *above, int indent) {
    const char *need = gradient_need_text(arena, plan, gradient);
    bool is_asked = need && !(above && strcmp(need, above) == 0);
    if (is_asked) layout_statement(out, indent, "if ", need, ":");
    class_gradient(arena, out, plan, gradient, is_asked ? indent + 4 : indent);
}

/// `a = b = None`, one name a line where that is too long.
static void absent_gradients(Buffer *out, const Texts *names) {
    Buffer line = buffer_new(out->arena);
    for (int i = 0; i < names->count; i++) buffer_printf(&line, "%s = ", names->items[i]);
    if (names->count && line.size + 12 <= LINE_LIMIT)
        statement(out, buffer_text(&line), "None");
    else
        for (int i = 0; i < names->count; i++)
            statement(out, arena_printf(out->arena, "%s = ", names->items[i]), "None");
}

/// An upstream gradient in a layout that the kernels can read; `index` of the output's strides.
static const char *upstream_text(Arena *arena, const LaunchPlan *plan,
                                 const BackwardArgument *upstream, int index) {
    Buffer axes = buffer_new(arena);
    int count = 0;
    for (int axis = 0; axis < TYPE_MAX_RANK; axis++)
        if (upstream_has_stride(plan->backward, upstream->of, axis))
            buffer_printf(&axes, "%s%d", count++ ? ", " : "", axis);
    const char *text =
        count ? arena_printf(arena, "_upstream(%s, %s.strides[%d], given=(%s%s))", upstream->name,
                             plan->ctx, index, buffer_text(&axes), count == 1 ? "," : "")
              : arena_printf(arena, "_with_stride(%s, %s.strides[%d])", upstream->name, plan->ctx,
                             index);
    return indexed_around_text(arena, plan, upstream->of, index, text, false);
}

/// Whether it is read by several launches, or asked for its strides.
static bool upstream_is_named(const LaunchPlan *plan, const BackwardArgument *upstream) {
    return plan->backward->launch_count > 1 || upstream_has_strides(plan->backward, upstream->of);
}

/// What the launches write to; and what several of them read and is made for them, once.
static void class_buffers(Arena *arena, Buffer *out, const LaunchPlan *plan, const Texts *outputs) {
    const Backward *backward = plan->backward;
    buffer_puts(out, offsets_check_text(arena, plan, arena_printf(arena, "%s.grid", plan->ctx), 8));
    buffer_puts(out, stored_programs_text(arena, plan));
    buffer_puts(out, slices_statements(arena, plan));
    Texts absent = {0};
    for (int i = 0; i < backward->whole.argument_count; i++) {
        const BackwardArgument *argument = &backward->whole.arguments[i];
        if (argument->is_program_sum) continue;
        const char *target = arena_printf(arena, "%s = ", argument->name);
        int index = name_index(outputs, argument->of),
            of = parameter_find(plan->kernel, str_from(argument->of));
        bool is_later = gradient_is_optional(arena, plan, argument);
        bool is_asked = gradient_need_text(arena, plan, argument), is_absent = is_later || is_asked;
        if (is_absent && plan->is_part[of])
            LIST_PUSH(arena, &absent, whole_name(arena, plan, argument));
        if (is_absent && (is_asked || !plan->is_part[of]))
            LIST_PUSH(arena, &absent, argument->name);
        if (!is_absent && argument->use == ARGUMENT_GRADIENT)
            class_gradient(arena, out, plan, argument, 8);
        if (argument->use == ARGUMENT_RUNNING) {
            const char *read = of >= 0 ? plan_only_read(arena, plan, of) : NULL;
            const char *text =
                arena_printf(arena, "%s(_d%s, %s.strides[%d]%s%s%s)",
                             read ? "_gradient_either" : "_running_gradient", argument->of,
                             plan->ctx, index, read ? ", " : "", read ? read : "",
                             argument->is_float32 ? ", accumulate=True" : "");
            layout_statement(out, 8, target,
                             indexed_around_text(arena, plan, argument->of, index, text, true), "");
        }
        if (argument->use == ARGUMENT_KEPT) {
            const char *text = gradient_before_text(arena, plan, argument, outputs);
            statement(out, target,
                      indexed_around_text(arena, plan, argument->of, index, text, true));
        }
        if (argument->use == ARGUMENT_UPSTREAM && upstream_is_named(plan, argument))
            layout_statement(out, 8, target, upstream_text(arena, plan, argument, index), "");
    }
    absent_gradients(out, &absent);
    for (int i = 0; i < backward->whole.argument_count; i++) {
        const BackwardArgument *argument = &backward->whole.arguments[i];
        if (!gradient_need_text(arena, plan, argument) ||
            gradient_is_optional(arena, plan, argument))
            continue;
        if (filled_text(arena, plan, argument))
            statement(out, arena_printf(arena, "%s = ", plan_name(arena, plan, "fills")), "False");
        class_gradient_asked(arena, out, plan, argument, NULL, 8);
    }
}

/// How a kernel is launched: what a tuner chose, what the user has passed, its warps and stages. `tiles`: those of its own, or NULL.
static void list_options(Arena *arena, const LaunchPlan *plan, const BackwardLaunch *launch,
                         const TileNames *tiles, int indent, Texts *call) {
    if (tiles && tiles->tuned) {
        LIST_PUSH(arena, call,
                  arena_printf(arena, "**{**%s, \"num_warps\": %s, \"num_stages\": %s}",
                               tiles->tuned, tiles->warps, tiles->stages));
        return;
    }
    if (launch->is_tuned_before)
        LIST_PUSH(arena, call,
                  arena_printf(arena, "**_tuned(%s)", plan->backward->launches[0].kernel));
    if (plan->has_options) LIST_PUSH(arena, call, options_text(arena, plan, launch, indent + 4));
    const char *warps = launch->row.block ? NULL : warps_text(arena, plan, launch, indent + 4);
    if (warps) LIST_PUSH(arena, call, warps);
    if (launch->row.block && !plan->has_options)
        LIST_PUSH(arena, call, arena_printf(arena, "num_warps=%s", whole_rows_warps(arena, plan)));
    if (tiles && !plan->has_options) {
        LIST_PUSH(arena, call, arena_printf(arena, "num_warps=%s", tiles->warps));
        if (tiles->stages)
            LIST_PUSH(arena, call, arena_printf(arena, "num_stages=%s", tiles->stages));
    }
}

/// `(a, b)` of arguments, also of one; NULL where the Function does not have one of them.
static const char *had_tuple(Arena *arena, const LaunchPlan *plan, const char *const *names,
                             int count) {
    Buffer out = buffer_new(arena);
    for (int i = 0; i < count; i++) {
        if (!plan_has_names(plan, names[i])) return NULL;
        buffer_printf(&out, "%s%s", i ? ", " : "", names[i]);
    }
    return arena_printf(arena, "(%s%s)", buffer_text(&out), count == 1 ? "," : "");
}

/// Whether tiles may be loaded by descriptors; NULL where the Function does not have what has to be asked.
static const char *described_text(Arena *arena, const LaunchPlan *plan,
                                  const BackwardLaunch *launch) {
    const DescribedLoads *asked = &launch->described;
    const char *tensors = had_tuple(arena, plan, asked->tensors, asked->tensor_count),
               *strides = had_tuple(arena, plan, asked->strides, asked->stride_count),
               *ones = had_tuple(arena, plan, asked->ones, asked->one_count),
               *rows = had_tuple(arena, plan, asked->rows, asked->row_count);
    // of two variants below a flag nobody has asked for both
    if (!asked->tensor_count || !tensors || !strides || !ones || !rows) return NULL;
    Buffer out = buffer_new(arena);
    buffer_printf(&out, "_are_described(%s, %s", tensors, strides);
    if (asked->row_count) buffer_printf(&out, ", rows=%s", rows);
    if (asked->one_count) buffer_printf(&out, ", ones=%s", ones);
    buffer_puts(&out, ")");
    return buffer_text(&out);
}

/// Whether an argument is of this launch alone, with a text of its own: `*text`, or NULL where it is left out. `tiles` is NULL where
/// the kernel has none of its own.
static bool says_itself(Arena *arena, const LaunchPlan *plan, int number,
                        const BackwardArgument *argument, const TileNames *tiles, int indent,
                        const char **text) {
    const BackwardLaunch *launch = &plan->backward->launches[number];
    const char *name = argument->name, *value = NULL;
    const BackwardArgument *of;
    *text = NULL;
    switch (argument->use) {
    case ARGUMENT_SLICES:
        if (argument->is_constexpr)
            *text = slices_text(arena, plan, launch, argument);
        else
            value = slices_name(arena, plan, number);
        break;
    case ARGUMENT_PART_STRIDE:
        of = launch_argument(plan->backward, ARGUMENT_GRADIENT, argument->of);
        value = arena_printf(arena, "_part_stride(%s)", of->name);
        break;
    case ARGUMENT_FILL:
        of = launch_argument(plan->backward, ARGUMENT_GRADIENT, argument->of);
        if (of && filled_text(arena, plan, of)) value = plan_name(arena, plan, "fills");
        break;
    case ARGUMENT_PROGRAMS:
        *text = programs_text(arena, argument, arena_printf(arena, "%s.grid", plan->ctx));
        break;
    case ARGUMENT_TOGETHER: value = tiles ? tiles->block : NULL; break;
    case ARGUMENT_PARTS: value = tiles ? tiles->parts : NULL; break;
    case ARGUMENT_DESCRIBED: value = described_text(arena, plan, launch); break;
    case ARGUMENT_STAGES: *text = stages_text(arena, plan, launch, name, indent + 4); break;
    case ARGUMENT_RUN_TILE: *text = run_tile_text(arena, plan, launch, argument); break;
    default: return false;
    }
    if (value) *text = arena_printf(arena, "%s=%s", name, value);
    return true;
}

/// The launch of one kernel, with the memory that it allocates for itself and those behind it.
static void class_call(Arena *arena, Buffer *out, const LaunchPlan *plan, int number,
                       const Texts *outputs) {
    const Backward *backward = plan->backward;
    const BackwardLaunch *launch = &backward->launches[number];
    const char *need = launch_need_text(arena, plan, number);
    int indent = need ? 12 : 8;
    if (need) layout_statement(out, 8, "if ", need, ":");
    for (int i = 0; need && i < launch->argument_count; i++)
        if (launch->arguments[i].use == ARGUMENT_GRADIENT)
            class_gradient_asked(arena, out, plan, &launch->arguments[i], need, indent);
    TileNames tiles;
    bool has_tiles = tiles_are_own(arena, plan, launch, &tiles);
    if (!launch->flat_end) buffer_puts(out, tiles_statement(arena, plan, launch, indent));
    Texts call = {0};
    for (int i = 0; i < launch->argument_count; i++) {
        const BackwardArgument *argument = &launch->arguments[i];
        bool is_own = argument->use == ARGUMENT_SCRATCH || argument->use == ARGUMENT_STEPS;
        if (argument->is_program_sum || (is_own && number == 0)) continue;
        const char *text;
        if (says_itself(arena, plan, number, argument, has_tiles ? &tiles : NULL, indent, &text)) {
            if (text) LIST_PUSH(arena, &call, text);
            continue;
        }
        const char *value = argument->use == ARGUMENT_SAME ? argument->of : argument->name;
        const char *given = descriptor_number_text(arena, plan, argument),
                   *size = has_tiles ? tile_size_text(launch, &tiles, argument->name) : NULL;
        if (given) value = given;
        if (size) value = size;
        if (argument->use == ARGUMENT_UPSTREAM && !upstream_is_named(plan, argument))
            value = upstream_text(arena, plan, argument, name_index(outputs, argument->of));
        if (argument->upstream) {
            const BackwardArgument *upstream = upstream_of(plan->backward, argument->upstream);
            const char *step = arena_printf(arena, "%s.stride(%d)", upstream->name, argument->axis);
            value = upstream->is_optional
                        ? arena_printf(arena, "0 if %s is None else %s", upstream->name, step)
                        : step;
        }
        const BackwardArgument *twin = gradient_twin(arena, plan, argument);
        if (twin)
            value = arena_printf(arena, "None if %s is %s else %s", argument->name, twin->name,
                                 argument->name);
        int index = argument->use == ARGUMENT_SAME
                        ? parameter_find(plan->kernel, str_from(argument->of))
                        : -1;
        if (index >= 0 && !plan_has(plan, index))
            continue;  // autotune sets it, or it has a default
        LIST_PUSH(arena, &call, arena_printf(arena, "%s=%s", argument->name, value));
    }
    if (backward->is_untuned) LIST_PUSH(arena, &call, arena_printf(arena, "**%s.tuned", plan->ctx));
    if (number == 0 && launch_counts_programs(launch)) {
        Texts rest = {0};
        buffer_puts(out, tape_statements(arena, plan, arena_printf(arena, "%s.grid", plan->ctx),
                                         call.items, call.count, indent, &rest.items, &rest.count));
        rest.capacity = rest.count;
        call = rest;
    }
    list_options(arena, plan, launch, has_tiles ? &tiles : NULL, indent, &call);
    const char *grid = has_tiles ? tiles.grid : arena_printf(arena, "%s.grid", plan->ctx);
    const char *own = launched_grid_text(arena, plan, number, grid),
               *launched = arena_printf(arena, "%s[%s]", launch->kernel, own);
    if (own != grid && (size_t)indent + strlen(launched) + 1 > LINE_LIMIT) {
        const char *name = plan_name(arena, plan, "grid");
        statement_at(out, indent, "",
                     launched_grid_statement(arena, plan, number, name, grid, indent));
        launched = arena_printf(arena, "%s[%s]", launch->kernel, name);
    }
    statement_at(out, indent, "", call_lines(arena, launched, call.items, call.count, indent));
}

/// What the gradients are computed from, as autograd sees it. None: from copies, of which it sees nothing.
static const char *links_text(Arena *arena, const LaunchPlan *plan, const Texts *saved,
                              const Texts *parameters) {
    const BackwardLaunch *launch = &plan->backward->whole;
    for (int i = 0; i < launch->argument_count; i++)
        if (launch->arguments[i].use == ARGUMENT_BEFORE ||
            launch->arguments[i].use == ARGUMENT_AMID)
            return "None";
    Texts links = {0};
    for (int i = 0; i < saved->count; i++) LIST_PUSH(arena, &links, saved->items[i]);
    for (int i = 1; i < parameters->count; i++) LIST_PUSH(arena, &links, parameters->items[i]);
    if (links.count == 1) return arena_printf(arena, "(%s,)", links.items[0]);
    return tuple_lines(arena, "", links.items, links.count, 12);
}

/// The gradient of an input that is an output as well: in that tensor's type where sums were made in a wider one.
static const char *running_result(Arena *arena, const LaunchPlan *plan, int p,
                                  const BackwardArgument *running) {
    if (!running->is_float32) return running->name;
    const char *upstream = arena_printf(arena, "_d%s", running->of),
               *read = plan_only_read(arena, plan, p);
    if (!read) return arena_printf(arena, "_like(%s, %s)", running->name, upstream);
    return arena_printf(arena, "_like(%s, %s if %s is None else %s)", running->name, upstream, read,
                        read);
}

/// `_overlaps` with what the Function has to compare; NULL where it cannot say that.
static const char *overlaps_text(Arena *arena, const LaunchPlan *plan, const char *name) {
    Texts reads = expanded_input_reads(arena, plan->backward, name), arguments = {0};
    LIST_PUSH(arena, &arguments, name);
    int least = expanded_input_least_rank(arena, plan->backward, name),
        most = expanded_input_rank(plan->backward, name);
    LIST_PUSH(arena, &arguments,
              least < most ? arena_printf(arena, "range(%d, %d)", least, most + 1)
                           : arena_printf(arena, "(%d,)", most));
    for (LIST_EACH(int, i, reads)) {
        const char *read = grid_text_alone(arena, plan, reads.items[i]);
        if (!read) return NULL;
        LIST_PUSH(arena, &arguments, read);
    }
    Buffer call = buffer_new(arena);
    for (LIST_EACH(int, i, arguments))
        buffer_printf(&call, "%s%s", i ? ", " : "_overlaps(", arguments.items[i]);
    return arena_printf(arena, "%s)", buffer_text(&call));
}

/// A dense copy in place of an input whose elements share memory: each of them gets a gradient of its own.
static void expanded_text(Arena *arena, Buffer *out, const LaunchPlan *plan) {
    for (int p = 0; p < plan->kernel->parameter_count; p++) {
        const char *name = plan_parameter(plan, p)->name;
        Buffer steps = buffer_new(arena), strides = buffer_new(arena);
        for (int axis = 0; axis < TYPE_MAX_RANK; axis++) {
            const char *step = expanded_input_stride(plan->backward, name, axis);
            if (!step || plan->is_part[p]) continue;
            buffer_printf(&steps, "%s%s", steps.size ? ", " : "", step);
            buffer_printf(&strides, "%s%s.stride(%d)", strides.size ? ", " : "", name, axis);
        }
        const char *overlaps = steps.size ? overlaps_text(arena, plan, name) : NULL;
        if (!overlaps) continue;
        const char *need = need_text(arena, plan, name);
        layout_statement(out, 8, "if ", arena_printf(arena, "%s and %s", need, overlaps), ":");
        statement_at(out, 12, "", arena_printf(arena, "%s = %s.contiguous()", name, name));
        bool fits = 12 + steps.size + strlen(" = ") + strides.size <= LINE_LIMIT;
        layout_statement(out, 12, arena_printf(arena, "%s = ", buffer_text(&steps)),
                         arena_printf(arena, fits ? "%s" : "(%s)", buffer_text(&strides)), "");
    }
}

/// `def NAME(ctx, LEADING..., upstream gradients):`. Gives the parameters.
static Texts backward_head(Arena *arena, Buffer *out, const LaunchPlan *plan, const char *name,
                           const Texts *leading, const Texts *outputs) {
    const Backward *backward = plan->backward;
    Texts parameters = {0};
    LIST_PUSH(arena, &parameters, plan->ctx);
    for (LIST_EACH(int, i, *leading)) LIST_PUSH(arena, &parameters, leading->items[i]);
    for (int i = 0; i < outputs->count; i++) {
        const BackwardArgument *argument =
            launch_argument(backward, ARGUMENT_UPSTREAM, outputs->items[i]);
        LIST_PUSH(arena, &parameters,
                  argument ? argument->name : arena_printf(arena, "_d%s", outputs->items[i]));
    }
    buffer_puts(out, "\n    @staticmethod\n    ");
    buffer_printf(out, "%s:\n",
                  call_lines_before(arena, arena_printf(arena, "def %s", name), parameters.items,
                                    parameters.count, 4, 1));
    return parameters;
}

/// What the class has kept of the forward.
static void backward_unpack(Arena *arena, Buffer *out, const LaunchPlan *plan, const Texts *saved,
                            const Texts *scalars) {
    const char *tensors = arena_printf(arena, "_saved(%s)", plan->ctx),
               *numbers = arena_printf(arena, "%s.scalars", plan->ctx);
    if (saved->count == 1)
        statement(out, arena_printf(arena, "(%s,) = ", saved->items[0]), tensors);
    if (saved->count > 1) unpack(out, saved, tensors);
    buffer_puts(out, indexed_unpack_text(arena, plan, plan->ctx, 8));
    if (scalars->count == 1)
        statement(out, arena_printf(arena, "%s = ", scalars->items[0]), numbers);
    if (scalars->count > 1) unpack(out, scalars, numbers);
}

/// The launches, and what comes of them.
static void backward_body(Arena *arena, Buffer *out, const LaunchPlan *plan, const Texts *saved,
                          const Texts *parameters, const Texts *outputs) {
    const Backward *backward = plan->backward;
    const BackwardLaunch *launch = &backward->whole;
    expanded_text(arena, out, plan);
    // The kernel repeats stores in it, and autograd may come again for what the forward has kept.
    for (int i = 0; i < launch->argument_count; i++)
        if (launch->arguments[i].use == ARGUMENT_AMID)
            statement(out, arena_printf(arena, "%s = ", launch->arguments[i].name),
                      arena_printf(arena, "%s(%s)",
                                   indexed_is(plan, launch->arguments[i].of) ? "_saved_around"
                                                                             : "_saved_copy",
                                   launch->arguments[i].name));
    class_buffers(arena, out, plan, outputs);
    for (int i = 0; i < backward->launch_count; i++) class_call(arena, out, plan, i, outputs);
    buffer_puts(out, indexed_check_text(arena, plan));
    Texts results = {0};
    LIST_PUSH(arena, &results, links_text(arena, plan, saved, parameters));
    LIST_PUSH(arena, &results, "None");
    if (plan->has_options) LIST_PUSH(arena, &results, "None");
    if (plan_has_descriptors(plan)) LIST_PUSH(arena, &results, "None");
    if (plan_has_parts(plan)) LIST_PUSH(arena, &results, "None");
    for (int p = 0; p < plan->kernel->parameter_count; p++) {
        if (!plan->passed[p]) continue;
        const char *name = plan_parameter(plan, p)->name;
        const BackwardArgument *gradient = launch_argument(backward, ARGUMENT_GRADIENT, name);
        const BackwardArgument *running = launch_argument(backward, ARGUMENT_RUNNING, name);
        const char *text = "None";
        if (running && in_names(backward->inputs, backward->input_count, name))
            text = running_result(arena, plan, p, running);
        const BackwardArgument *kept = launch_argument(backward, ARGUMENT_KEPT, name);
        if (kept) text = kept->name;
        if (gradient && gradient->is_program_sum)
            text = arena_printf(arena, "_sum_as(%s, %s)", gradient->name,
                                scalar_form(arena, plan, launch, gradient));
        else if (gradient) {
            const char *buffer =
                plan->is_part[p] ? whole_name(arena, plan, gradient) : gradient->name;
            text = gradient->is_parts ? arena_printf(arena, "_total(%s, %s)", buffer, gradient->of)
                   : gradient->is_float32
                       ? arena_printf(arena, "_like(%s, %s)", buffer, gradient->of)
                       : buffer;
        }
        LIST_PUSH(arena, &results, text);
    }
    statement(out, "return ",
              call_lines_before(arena, "_first_order", results.items, results.count, 8, 7));
}

/// The same in one kernel, for rows that one block holds.
static void class_whole_rows(Arena *arena, Buffer *out, const LaunchPlan *plan,
                             const KeptNames *kept) {
    if (!rows_are_own(plan)) return;
    const LaunchPlan own = whole_rows_plan(plan);
    const Texts leading = whole_rows_leading(arena, &own);
    Texts numbers = {0};
    for (LIST_EACH(int, i, kept->scalars)) {
        bool is_block = strcmp(kept->scalars.items[i], whole_rows_launch(&own)->row.block) == 0;
        LIST_PUSH(arena, &numbers, is_block ? "_" : kept->scalars.items[i]);
    }
    const Texts parameters =
        backward_head(arena, out, &own, WHOLE_ROWS_METHOD, &leading, &kept->outputs);
    statement(out, "\"\"\"The same in one kernel, where a block holds a row.\"\"\"", "");
    backward_unpack(arena, out, &own, &kept->saved, &numbers);
    Texts gradients = {.items = parameters.items + leading.count,
                       .count = parameters.count - leading.count};
    backward_body(arena, out, &own, &kept->saved, &gradients, &kept->outputs);
}

static void class_backward(Arena *arena, Buffer *out, const LaunchPlan *plan,
                           const KeptNames *kept) {
    const Texts none = {0};
    const Texts parameters = backward_head(arena, out, plan, "backward", &none, &kept->outputs);
    absent_backward(arena, out, plan, &kept->outputs);
    backward_unpack(arena, out, plan, &kept->saved, &kept->scalars);
    buffer_puts(out, whole_rows_dispatch(arena, plan, &parameters));
    backward_body(arena, out, plan, &kept->saved, &parameters, &kept->outputs);
}

static bool text_mentions(const char *text, const char *name) {
    return text && strstr(text, name) != NULL;
}

/// Whether a check of rows may name it.
static bool span_mentions(const Backward *backward, const char *name) {
    for (int i = 0; i < backward->assumption_count; i++) {
        const Assumption *assumption = &backward->assumptions[i];
        if (text_mentions(assumption->spans, name) || text_mentions(assumption->span_flags, name) ||
            text_mentions(assumption->span_counts, name))
            return true;
    }
    return false;
}

/// Whether the class's backward needs a number of the forward's: not one that it asks an upstream gradient for.
static bool scalar_is_read(const Backward *backward, const char *name) {
    if (span_mentions(backward, name)) return true;
    for (int i = 0; i < backward->launch_count; i++)
        for (int k = 0; k < backward->launches[i].argument_count; k++) {
            const BackwardArgument *argument = &backward->launches[i].arguments[k];
            bool is_passed = argument->use == ARGUMENT_SAME && !argument->upstream &&
                             strcmp(argument->of, name) == 0;
            if (is_passed || text_mentions(argument->stored, name) ||
                text_mentions(argument->elements, name) || text_mentions(argument->trips, name))
                return true;
        }
    return false;
}

const char *autograd_class(Arena *arena, const LaunchPlan *plan) {
    const Backward *backward = plan->backward;
    KeptNames kept = {0};
    Texts others = {0}, quoted = {0};
    for (int p = 0; p < plan->kernel->parameter_count; p++) {
        const Parameter *parameter = plan_parameter(plan, p);
        if (plan->saved[p]) {
            Texts *names = plan->saved_axis[p] ? &kept.scalars : &others;
            if (launch_argument(backward, ARGUMENT_SAME, parameter->name))
                LIST_PUSH(arena, names, parameter->name);
        }
        if (!plan->passed[p]) continue;
        bool same = launch_argument(backward, ARGUMENT_SAME, parameter->name) != NULL;
        bool gradient = launch_argument(backward, ARGUMENT_GRADIENT, parameter->name) != NULL;
        const BackwardArgument *before =
            launch_argument(backward, ARGUMENT_BEFORE, parameter->name);
        if (parameter_is_pointer(parameter) && same && !parameter_is_output(parameter) &&
            !plan->is_part[p])
            LIST_PUSH(arena, &kept.saved, parameter->name);
        else if (parameter_is_pointer(parameter) && (same || gradient))
            LIST_PUSH(arena, &others, parameter->name);
        const BackwardArgument *amid = launch_argument(backward, ARGUMENT_AMID, parameter->name);
        if (before) LIST_PUSH(arena, &others, before->name);
        const char *read = plan_only_read(arena, plan, p);
        if (read) LIST_PUSH(arena, &others, read);
        if (amid) LIST_PUSH(arena, &others, amid->name);
        if (!parameter_is_pointer(parameter) && same && scalar_is_read(backward, parameter->name))
            LIST_PUSH(arena, &kept.scalars, parameter->name);
        if (!parameter_is_output(parameter)) continue;
        LIST_PUSH(arena, &kept.outputs, parameter->name);
        if (!launch_argument(backward, ARGUMENT_UPSTREAM, parameter->name) &&
            !launch_argument(backward, ARGUMENT_RUNNING, parameter->name) &&
            !launch_argument(backward, ARGUMENT_KEPT, parameter->name))
            LIST_PUSH(arena, &kept.fixed, parameter->name);
    }
    kept.read = kept.outputs.count ? kept.saved.count : 0;
    for (LIST_EACH(int, i, others)) LIST_PUSH(arena, &kept.saved, others.items[i]);
    for (int i = 0; i < backward->input_count; i++)
        LIST_PUSH(arena, &quoted, arena_printf(arena, "`%s`", backward->inputs[i]));
    Buffer inputs = buffer_new(arena);
    for (int i = 0; i < quoted.count; i++)
        buffer_printf(&inputs, "%s%s",
                      i == 0                  ? ""
                      : i == quoted.count - 1 ? " and "
                                              : ", ",
                      quoted.items[i]);
    Buffer out = buffer_new(arena);
    Str alias = kernel_alias(plan->kernel), name = alias.size ? alias : plan->kernel->name;
    if (!str_is(name, plan->callee))
        buffer_printf(&out, "%s = %.*s  # a parameter has the kernel's name\n\n\n", plan->callee,
                      STR_ARGS(name));
    buffer_printf(&out, "class %s(torch.autograd.Function):\n", plan->class_name);
    buffer_printf(&out, "    \"\"\"A launch of `%.*s`, differentiable in %s.\"\"\"\n\n",
                  STR_ARGS(plan->kernel->name), buffer_text(&inputs));
    if (plan->has_launch) class_launch(arena, &out, plan);
    class_forward(arena, &out, plan, &kept);
    class_backward(arena, &out, plan, &kept);
    class_whole_rows(arena, &out, plan, &kept);
    return buffer_text(&out);
}
