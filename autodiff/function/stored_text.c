// What a launch stores in, Python of the emitted Function out.
#include "autodiff/function/stored_text.h"

#include <string.h>

#include "analysis/host/launch.h"
#include "analysis/host/launch_concrete.h"
#include "analysis/host_values/host_value.h"
#include "analysis/launches/launch_strides.h"
#include "autodiff/emit/call_lines.h"
#include "autodiff/emit/emit_layout.h"
#include "autodiff/emit/quotient_text.h"
#include "autodiff/function/descriptor_text.h"
#include "autodiff/plan/needs.h"
#include "autodiff/state/asserted.h"

/// The name of a whole grid, whose second and third axes a launch may leave out.
static const char *programs_name(Arena *arena, const LaunchPlan *plan) {
    return plan_name(arena, plan, "programs");
}

/// Whether a launch's grid may be a function even in the Function, which asks for what a tuner chooses.
static bool grid_is_tuned(const LaunchPlan *plan) {
    return plan->kernel->is_autotuned || plan->kernel->has_heuristics;
}

/// An axis of the grid at `at`, or -1.
static int axis_at(const char *at) {
    return strncmp(at, "grid.", 5) == 0 && at[5] >= '0' && at[5] < '0' + PROGRAM_AXES ? at[5] - '0'
                                                                                      : -1;
}

static bool name_is_passed(const LaunchPlan *plan, Str name) {
    int parameter = parameter_find(plan->kernel, name);
    return parameter < 0 || plan_has(plan, parameter);
}

static size_t name_size(const char *at) {
    size_t size = 0;
    while (byte_is_word(at[size])) size++;
    return size;
}

/// Whether the Function has what a text names besides the grid; `*most_axis`: of the grid, that it names.
static bool names_are_passed(const LaunchPlan *plan, const char *text, int *most_axis) {
    *most_axis = -1;
    for (const char *at = text; *at;) {
        size_t size = name_size(at);
        int axis = axis_at(at);
        if (axis > *most_axis) *most_axis = axis;
        if (axis < 0 && size && !name_is_passed(plan, (Str){at, size})) return false;
        at += axis >= 0 ? sizeof "grid.0" - 1 : size ? size : 1;
    }
    return true;
}

/// Whether the Function can say it; `*most_axis`: of the grid, that it names.
static bool is_said(const LaunchPlan *plan, const char *text, int *most_axis) {
    return names_are_passed(plan, text, most_axis) && (*most_axis < 0 || !grid_is_tuned(plan));
}

/// Of a gradient that is not around a view, nor a sum.
static const char *claim_of(const LaunchPlan *plan, const BackwardArgument *argument,
                            int *most_axis) {
    *most_axis = -1;
    const char *stored = argument->stored ? argument->stored : argument->filled;
    if (argument->use != ARGUMENT_GRADIENT || !stored) return NULL;
    int parameter = parameter_find(plan->kernel, str_from(argument->of));
    if (parameter < 0 || plan->is_part[parameter]) return NULL;
    if (argument->is_parts && grid_is_tuned(plan)) return NULL;  // how many sums there are is open
    return is_said(plan, stored, most_axis) ? stored : NULL;
}

static bool names_whole_grid(const LaunchPlan *plan) {
    int axis, most = -1;
    for (int i = 0; i < plan->backward->whole.argument_count; i++)
        if (claim_of(plan, &plan->backward->whole.arguments[i], &axis) && axis > most) most = axis;
    return most > 0;
}

const char *stored_programs_text(Arena *arena, const LaunchPlan *plan) {
    if (!names_whole_grid(plan)) return "";
    return arena_printf(arena, "        %s = (*%s.grid, 1, 1)\n", programs_name(arena, plan),
                        plan->ctx);
}

/// A claim with Python of the grid in it.
static const char *text_with_grid(Arena *arena, const char *text, const char *grid) {
    Buffer out = buffer_new(arena);
    for (const char *at = text; *at;) {
        size_t size = name_size(at);
        int axis = axis_at(at);
        if (axis >= 0)
            buffer_printf(&out, "%s[%d]", grid, axis);
        else
            buffer_add(&out, at, size ? size : 1);
        at += axis >= 0 ? sizeof "grid.0" - 1 : size ? size : 1;
    }
    return buffer_text(&out);
}

/// A claim with what the Function kept of descriptors in the place of their sizes and strides.
static const char *text_with_sizes(Arena *arena, const LaunchPlan *plan, const char *text) {
    const BackwardLaunch *launch = &plan->backward->whole;
    Buffer out = buffer_new(arena);
    for (const char *at = text; *at;) {
        size_t size = name_size(at);
        const char *number = NULL;
        for (int i = 0; size && i < launch->argument_count && !number; i++) {
            const char *name = launch->arguments[i].name;
            if (strlen(name) == size && strncmp(name, at, size) == 0)
                number = descriptor_number_text(arena, plan, &launch->arguments[i]);
        }
        buffer_add(&out, number ? number : at, number ? strlen(number) : size ? size : 1);
        at += size ? size : 1;
    }
    return buffer_text(&out);
}

/// The claim in the Function's names.
static const char *named_text(Arena *arena, const LaunchPlan *plan, const char *text) {
    const char *grid = names_whole_grid(plan) ? programs_name(arena, plan)
                                              : arena_printf(arena, "%s.grid", plan->ctx);
    return text_with_sizes(arena, plan, text_with_grid(arena, text, grid));
}

const char *grid_text_of(Arena *arena, const LaunchPlan *plan, const char *text) {
    int most_axis;
    return is_said(plan, text, &most_axis) ? named_text(arena, plan, text) : NULL;
}

const char *grid_text_alone(Arena *arena, const LaunchPlan *plan, const char *text) {
    int most_axis;
    if (!is_said(plan, text, &most_axis)) return NULL;
    const char *grid = most_axis > 0 ? arena_printf(arena, "(*%s.grid, 1, 1)", plan->ctx)
                                     : arena_printf(arena, "%s.grid", plan->ctx);
    return text_with_grid(arena, text, grid);
}

const char *stored_text(Arena *arena, const LaunchPlan *plan, const BackwardArgument *gradient) {
    int most_axis;
    const char *text = gradient->stored ? claim_of(plan, gradient, &most_axis) : NULL;
    return text ? arena_printf(arena, "stored=%s", named_text(arena, plan, text)) : NULL;
}

const char *stored_operator_text(Arena *arena, const LaunchPlan *plan,
                                 const BackwardArgument *gradient) {
    int most_axis;
    const char *text = gradient->stored ? claim_of(plan, gradient, &most_axis) : NULL;
    if (text && strcmp(text, text_with_sizes(arena, plan, text)) != 0) return NULL;
    return text ? text_with_grid(arena, text, most_axis > 0 ? "(*grid, 1, 1)" : "grid") : NULL;
}

/// A claim as Python over `meta`, what a tuner chose, and `grid`, three numbers; NULL where that does not tell.
static const char *claim_of_choice(Arena *arena, const LaunchPlan *plan, const char *claim,
                                   const char *meta, const char *grid) {
    Buffer out = buffer_new(arena);
    for (const char *at = claim; *at;) {
        size_t size = name_size(at);
        int axis = axis_at(at);
        Str name = {at, size};
        bool is_tuned = size && kernel_tunes(plan->kernel, name);
        if (axis < 0 && size && !is_tuned && !name_is_passed(plan, name)) return NULL;
        if (axis >= 0)
            buffer_printf(&out, "%s[%d]", grid, axis);
        else if (is_tuned)
            buffer_printf(&out, "%s[\"%.*s\"]", meta, STR_ARGS(name));
        else
            buffer_add(&out, at, size ? size : 1);
        at += axis >= 0 ? sizeof "grid.0" - 1 : size ? size : 1;
    }
    return buffer_text(&out);
}

const char *stored_by_all_text(Arena *arena, const LaunchPlan *plan,
                               const BackwardArgument *gradient) {
    const FunctionDefinition *kernel = plan->kernel;
    int parameter = parameter_find(kernel, str_from(gradient->of));
    bool is_asked = kernel->is_autotuned && !kernel->has_heuristics &&
                    !plan->backward->is_untuned && gradient->use == ARGUMENT_GRADIENT &&
                    gradient->stored && !gradient->is_parts && !gradient->is_float32;
    if (!is_asked || parameter < 0 || plan->is_part[parameter]) return NULL;
    const char *meta = plan_name(arena, plan, "meta"), *grid = plan_name(arena, plan, "grid");
    const char *claim = claim_of_choice(arena, plan, gradient->stored, meta, grid);
    if (!claim) return NULL;
    return arena_printf(arena, "stored=_stored_by_all(%s, %s, %s.grid, lambda %s, %s: %s)",
                        gradient->of, plan->backward->launches[0].kernel, plan->ctx, meta, grid,
                        claim);
}

const char *filled_text(Arena *arena, const LaunchPlan *plan, const BackwardArgument *gradient) {
    int most_axis, of = parameter_find(plan->kernel, str_from(gradient->of));
    bool is_plain = of >= 0 && !gradient->stored && !gradient->is_float32 && !gradient->is_parts &&
                    !gradient->same_as && !gradient_is_optional(arena, plan, gradient);
    const char *text = is_plain ? claim_of(plan, gradient, &most_axis) : NULL;
    if (!text) return NULL;
    const char *unfilled = gradient->unfilled;
    int axis;
    if (!unfilled || !is_said(plan, unfilled, &axis) || axis > most_axis)
        return arena_printf(arena, "stored=%s", named_text(arena, plan, text));
    return arena_printf(arena, "stored=%s, unfilled=%s", named_text(arena, plan, text),
                        named_text(arena, plan, unfilled));
}

/// A range whose length the Function can say, or one whose length it cannot; NULL where it cannot say the step.
static const char *apart_range(Arena *arena, const LaunchPlan *plan, const char *range) {
    int axis;
    const char *comma = strstr(range, ", ");
    if (is_said(plan, range, &axis)) return named_text(arena, plan, range);
    const char *step = arena_printf(arena, "%.*s", (int)(comma - range), range);
    return comma && is_said(plan, step, &axis) ? arena_printf(arena, "%s, None)", step) : NULL;
}

/// Whether a launch passes the stride and the size of one axis of a tensor for a range: the tensor's own elements.
static bool is_axis_of(Arena *arena, const HostLaunch *launch, int tensor, int step, int length) {
    int axis = host_argument_stride_axis(launch, step, tensor);
    if (axis < 0 || length >= launch->argument_count) return false;
    const HostValue *of = launch->arguments[tensor].value, *size = launch->arguments[length].value;
    if (!size || !of || of->kind != HOST_TENSOR || axis >= of->tensor->rank) return false;
    return strcmp(host_print(arena, size), host_print(arena, of->tensor->dims[axis])) == 0;
}

/// Whether launches step through the tensor by a stride of it, and by something else than its axes.
static bool is_stepped_by_stride(Arena *arena, const LaunchPlan *plan, const StepCheck *check) {
    const FunctionDefinition *kernel = plan->kernel;
    HostLaunches launches = host_launches(arena, kernel, plan->backward->kernel->function);
    int tensor = parameter_find(kernel, str_from(check->of));
    bool has_stride = false, has_other = false;
    for (int k = 0; k < check->range_count; k++) {
        const char *text = check->ranges[k] + 1, *comma = strstr(text, ", ");
        const char *end = comma ? strrchr(comma, ')') : NULL;
        if (!end) return false;
        int step = parameter_find(kernel, (Str){text, (size_t)(comma - text)});
        int length = parameter_find(kernel, (Str){comma + 2, (size_t)(end - comma - 2)});
        bool is_known = strncmp(comma, ", None", 6) != 0 && strncmp(comma, ", grid.", 7) != 0;
        for (LIST_EACH(int, i, launches)) {
            const HostLaunch *launch = launches.items[i];
            has_stride |= step >= 0 && host_argument_stride_axis(launch, step, tensor) >= 0;
            has_other |= is_known && (step < 0 || length < 0 ||
                                      !is_axis_of(arena, launch, tensor, step, length));
        }
    }
    return has_stride && has_other;
}

const char *apart_text(Arena *arena, const LaunchPlan *plan, const BackwardArgument *gradient) {
    const Backward *backward = plan->backward;
    for (int i = 0; i < backward->step_count;
         i++)  // windows that overlap are gathered, and looked at already
        if (backward->steps[i].is_of_windows && strcmp(backward->steps[i].of, gradient->of) == 0)
            return NULL;
    for (int i = 0; i < backward->step_count; i++) {
        const StepCheck *check = &backward->steps[i];
        if (strcmp(check->of, gradient->of) != 0 || *check->guard || check->is_of_stores) continue;
        if (!check->is_doubted && !is_stepped_by_stride(arena, plan, check)) return NULL;
        Buffer out = buffer_new(arena);
        for (int k = 0; k < check->range_count; k++) {
            const char *range = apart_range(arena, plan, check->ranges[k]);
            if (!range) return NULL;
            buffer_printf(&out, "%s%s", k ? ", " : "apart=[", range);
        }
        buffer_puts(&out, "]");
        return buffer_text(&out);
    }
    return NULL;
}

const char *stored_output_text(Arena *arena, const LaunchPlan *plan, int parameter) {
    int most_axis;
    const char *text = plan->backward->stored ? plan->backward->stored[parameter] : NULL;
    if (!text || plan->is_part[parameter] ||
        parameter_is_descriptor(plan_parameter(plan, parameter)) ||
        !is_said(plan, text, &most_axis))
        return NULL;
    const char *grid = most_axis > 0 ? arena_printf(arena, "(*%s, 1, 1)", plan->grid) : plan->grid;
    return text_with_grid(arena, text, grid);
}

/// The elements of a tensor of indices that a launch with this grid reads; NULL: they cannot be said here.
static const char *ranges_read(Arena *arena, const LaunchPlan *plan, const char *indices,
                               const char *ranges, const char *grid) {
    int most_axis;
    if (!is_said(plan, ranges, &most_axis) || !name_is_passed(plan, str_from(indices))) return NULL;
    const char *whole = most_axis > 0 ? arena_printf(arena, "(*%s, 1, 1)", grid) : grid;
    return text_with_grid(arena, ranges, whole);
}

/// The comparison of the indices that a launch stores at, or NULL.
static const char *distinct_check(Arena *arena, const LaunchPlan *plan,
                                  const Assumption *assumption, const char *grid, int indent) {
    if (grid_is_tuned(plan)) return NULL;
    const char *indices = assumption->indices, *others = assumption->second_indices;
    const char *ranges = ranges_read(arena, plan, indices, assumption->ranges, grid);
    const char *second =
        others ? ranges_read(arena, plan, others, assumption->second_ranges, grid) : NULL;
    if (!ranges || (others && !second)) return NULL;
    const char *of = arena_printf(arena, "\"%s\"", assumption->of);
    const char *next[] = {of, others, second};
    const char *further[] = {of, indices, ranges,
                             arena_printf(arena, "%lld", (long long)assumption->further)};
    if (assumption->further) return call_lines(arena, "_check_further", further, 4, indent);
    Texts compared = {0};
    LIST_PUSH(arena, &compared, of);
    LIST_PUSH(arena, &compared, indices);
    LIST_PUSH(arena, &compared, ranges);
    for (int i = 0; i < 2 && assumption->are_pairs; i++)
        LIST_PUSH(arena, &compared, i == 0 ? others : second);
    for (int i = 0; i < assumption->more_count; i++) {
        const char *next_one = assumption->more[2 * i];
        const char *read = ranges_read(arena, plan, next_one, assumption->more[2 * i + 1], grid);
        if (!read) return NULL;
        LIST_PUSH(arena, &compared, next_one);
        LIST_PUSH(arena, &compared, read);
    }
    const char *check =
        call_lines(arena, "_check_distinct", compared.items, compared.count, indent);
    if (!others || assumption->are_pairs) return check;
    return arena_printf(arena, "%s\n%*s%s", check, indent, "",
                        call_lines(arena, "_check_distinct", next, 3, indent));
}

/// A text over `@0`, `@1` with names in their places.
static const char *with_names(Arena *arena, const char *text, const char *const *names) {
    Buffer out = buffer_new(arena);
    for (; *text; text++)
        if (*text == '@')
            buffer_puts(&out, names[*++text - '0']);
        else
            buffer_add(&out, text, 1);
    return buffer_text(&out);
}

/// Whether the Function has the numbers and tensors that a text names, and `tuned` those that its caller leaves to decorators.
static bool is_kept_or_tuned(Arena *arena, const LaunchPlan *plan, const char *text, Texts *tuned) {
    for (const char *at = text; *at;) {
        size_t size = name_size(at);
        bool is_axis = axis_at(at) >= 0;
        Str name = {at, size};
        int parameter = size && !is_axis ? parameter_find(plan->kernel, name) : -1;
        at += is_axis ? sizeof "grid.0" - 1 : size ? size : 1;
        if (parameter < 0) continue;
        const char *whole = plan_parameter(plan, parameter)->name;
        if (plan_has(plan, parameter) && launch_argument(plan->backward, ARGUMENT_SAME, whole)) {
            continue;
        }
        if (!kernel_tunes(plan->kernel, name)) return false;
        bool is_listed = false;
        for (LIST_EACH(int, i, *tuned)) is_listed |= strcmp(tuned->items[i], whole) == 0;
        if (!is_listed) LIST_PUSH(arena, tuned, whole);
    }
    return true;
}

/// The same text with what decorators choose as `meta`.
static const char *with_choices(Arena *arena, const char *text, const Texts *tuned,
                                const char *meta) {
    Buffer out = buffer_new(arena);
    for (const char *at = text; *at;) {
        size_t size = name_size(at);
        Str name = {at, size};
        bool is_tuned = false;
        for (int i = 0; size && i < tuned->count; i++) is_tuned |= str_is(name, tuned->items[i]);
        if (is_tuned)
            buffer_printf(&out, "%s[\"%.*s\"]", meta, STR_ARGS(name));
        else
            buffer_add(&out, at, size ? size : 1);
        at += size ? size : 1;
    }
    return buffer_text(&out);
}

/// Whether kernels of the backward are passed an argument of the forward as it was: not a stride that the Function asks an
/// upstream gradient for.
static bool is_passed_on(const Backward *backward, const char *name) {
    for (int i = 0; i < backward->launch_count; i++)
        for (int k = 0; k < backward->launches[i].argument_count; k++) {
            const BackwardArgument *argument = &backward->launches[i].arguments[k];
            if (argument->use == ARGUMENT_SAME && !argument->upstream &&
                strcmp(argument->of, name) == 0)
                return true;
        }
    return false;
}

/// The comparison for each choice of a kernel's decorators.
static const char *tuned_spans_check(Arena *arena, const LaunchPlan *plan,
                                     const Assumption *assumption, const char *rows,
                                     const Texts *tuned, const char *grid, int indent) {
    const char *meta = plan_name(arena, plan, "meta"), *own = plan_name(arena, plan, "grid");
    Texts given = {0};
    Buffer names = buffer_new(arena);
    for (int p = 0; p < plan->kernel->parameter_count; p++) {
        const char *name = plan_parameter(plan, p)->name;
        if (plan_has(plan, p) && is_passed_on(plan->backward, name))
            LIST_PUSH(arena, &given, arena_printf(arena, "%s=%s", name, name));
    }
    for (LIST_EACH(int, i, *tuned))
        buffer_printf(&names, "%s\"%s\"", i ? ", " : "[", tuned->items[i]);
    buffer_puts(&names, tuned->count ? "]" : "[]");
    const char *counts = text_with_grid(arena, assumption->span_counts, own);
    const char *arguments[] = {
        arena_printf(arena, "\"%s\"", assumption->of),
        assumption->span_reads,
        plan->backward->launches[0].kernel,
        grid,
        call_lines(arena, "dict", given.items, given.count, indent + 4),
        buffer_text(&names),
        arena_printf(arena, "lambda %s, %s: %s", meta, own,
                     with_choices(arena, counts, tuned, meta)),
        arena_printf(arena, "lambda %s, %s", meta, with_choices(arena, rows, tuned, meta)),
    };
    return call_lines(arena, "_check_tuned_spans", arguments, 8, indent);
}

/// The comparison of the rows that programs store, or NULL.
static const char *spans_check(Arena *arena, const LaunchPlan *plan, const Assumption *assumption,
                               const char *grid, int indent) {
    const char *names[PROGRAM_AXES + TYPE_MAX_RANK], *flags = assumption->span_flags;
    const int programs = assumption->span_axes, numbers = programs + assumption->span_lanes;
    bool is_tuned = grid_is_tuned(plan);
    Texts tuned = {0};
    if (!is_kept_or_tuned(arena, plan, assumption->span_counts, &tuned) ||
        !is_kept_or_tuned(arena, plan, assumption->spans, &tuned) ||
        (flags && !is_kept_or_tuned(arena, plan, flags, &tuned)) || (tuned.count && !is_tuned))
        return NULL;
    Buffer rows = buffer_new(arena);
    for (int i = 0; i < numbers; i++) {
        const char *of = i < programs ? "program" : "lane";
        const int at = i < programs ? i : i - programs;
        names[i] = plan_name(arena, plan, at ? arena_printf(arena, "%s_%d", of, at) : of);
        buffer_printf(&rows, "%s%s", i ? ", " : "", names[i]);
    }
    buffer_printf(&rows, ": %s", with_names(arena, assumption->spans, names));
    if (flags) buffer_printf(&rows, " if %s else None", flags);
    if (is_tuned)
        return tuned_spans_check(arena, plan, assumption, buffer_text(&rows), &tuned, grid, indent);
    bool is_first_axis =
        !strstr(assumption->span_counts, "grid.1") && !strstr(assumption->span_counts, "grid.2");
    const char *whole = is_first_axis ? grid : arena_printf(arena, "(*%s, 1, 1)", grid);
    const char *arguments[] = {arena_printf(arena, "\"%s\"", assumption->of),
                               assumption->span_reads,
                               text_with_grid(arena, assumption->span_counts, whole),
                               arena_printf(arena, "lambda %s", buffer_text(&rows))};
    return call_lines(arena, "_check_spans", arguments, 4, indent);
}

/// The check of an assumption, or NULL: it has none.
static const char *assumption_check(Arena *arena, const LaunchPlan *plan,
                                    const Assumption *assumption, const char *grid, int indent) {
    int most_axis;
    const char *offsets = assumption->offsets, *lengths = assumption->lengths;
    const char *all[] = {arena_printf(arena, "\"%s\"", offsets ? offsets : ""), offsets,
                         assumption->blocks};
    if (offsets && assumption->blocks) return call_lines(arena, "_check_blocks", all, 3, indent);
    if (offsets && assumption->program_axis < 0)
        return call_lines(arena, "_check_all_ascending", all, 2, indent);
    const char *programs =
        assumption->program_axis == 0
            ? arena_printf(arena, "%s[0]", grid)
            : arena_printf(arena, "(*%s, 1, 1)[%d]", grid, assumption->program_axis);
    const char *ascending[] = {arena_printf(arena, "\"%s\"", offsets ? offsets : ""), offsets,
                               programs};
    if (offsets) return call_lines(arena, "_check_ascending", ascending, 3, indent);
    if (assumption->indices) return distinct_check(arena, plan, assumption, grid, indent);
    if (assumption->spans) return spans_check(arena, plan, assumption, grid, indent);
    if (!lengths || grid_is_tuned(plan) || !is_said(plan, assumption->step, &most_axis) ||
        most_axis >= 0 || !name_is_passed(plan, str_from(lengths)))
        return NULL;
    const char *ended[] = {arena_printf(arena, "\"%s\"", assumption->of), lengths, assumption->step,
                           programs};
    return call_lines(arena, "_check_rows_end", ended, 4, indent);
}

const char *offsets_check_text(Arena *arena, const LaunchPlan *plan, const char *grid, int indent) {
    Buffer out = buffer_new(arena);
    for (int i = 0; i < plan->backward->assumption_count; i++) {
        const char *check =
            assumption_check(arena, plan, &plan->backward->assumptions[i], grid, indent);
        bool is_new = check && !strstr(buffer_text(&out), check);
        if (is_new) buffer_printf(&out, "%*s%s\n", indent, "", check);
    }
    return buffer_text(&out);
}

/// Whether the Function can say all of it; `*most_axis`: of the grid, that it names.
static bool is_check_said(const LaunchPlan *plan, const StepCheck *check, int *most_axis) {
    *most_axis = -1;
    for (int i = 0, axis; i < check->range_count; i++) {
        bool is_passed = names_are_passed(plan, check->ranges[i], &axis);
        if (!is_passed || (axis >= 0 && !check->is_of_stores && grid_is_tuned(plan))) return false;
        if (axis > *most_axis) *most_axis = axis;
    }
    int axis, most = *most_axis;
    if (!check->other) return true;
    bool is_said = names_are_passed(plan, check->distance, &axis) &&
                   is_check_said(plan, check->other, most_axis);
    if (axis > *most_axis) *most_axis = axis;
    if (most > *most_axis) *most_axis = most;
    return is_said;
}

/// Of the ranges of a store, those that the Function can say, with what bounds them where a tuner has the rest. `is_alone`: it is one of
/// no pair.
static StepCheck check_that_is_said(Arena *arena, const LaunchPlan *plan, const StepCheck *check,
                                    bool is_alone) {
    StepCheck said = *check;
    if (!check->is_of_stores) return said;
    said.ranges = ARENA_ARRAY(arena, const char *, check->range_count + 1);
    said.range_count = 0;
    for (int i = 0, axis; i < check->range_count; i++) {
        const char *bound = check->bounds[i];
        int before = said.range_count;
        if (names_are_passed(plan, check->ranges[i], &axis))
            said.ranges[said.range_count++] = check->ranges[i];
        else if (bound && names_are_passed(plan, bound, &axis))
            said.ranges[said.range_count++] = bound;
        if (i < check->programs && said.range_count == before) said.programs--;
    }
    // numbers alone step over themselves
    bool is_number = said.range_count == 1 && is_alone && *said.ranges[0] == '(' &&
                     said.ranges[0][1] >= '1' && said.ranges[0][1] <= '9';
    if (is_number) said.range_count = 0;
    return said;
}

/// The arguments of the forward, by name, as a dict: a heuristic asks for them.
static const char *given_text(Arena *arena, const LaunchPlan *plan) {
    Buffer out = buffer_new(arena);
    for (int p = 0; p < plan->kernel->parameter_count; p++) {
        const Parameter *parameter = plan_parameter(plan, p);
        if (plan->kernel->has_heuristics && plan->passed[p] && !parameter_is_descriptor(parameter))
            buffer_printf(&out, "%s%s=%s", out.size ? ", " : "", parameter->name, parameter->name);
    }
    return arena_printf(arena, "dict(%s)", buffer_text(&out));
}

/// The flags under which something is touched, with defaults of what launches leave out. What a tuner or a heuristic sets is asked for at the call.
/// NULL: nobody knows one of them.
static const char *flags_text(Arena *arena, const LaunchPlan *plan, const char *flags) {
    const char *meta = plan_name(arena, plan, "meta");
    Buffer out = buffer_new(arena);
    bool is_tuned = false;
    for (const char *at = flags; *at;) {
        size_t size = name_size(at);
        Str name = {at, size};
        int p = size ? parameter_find(plan->kernel, name) : -1;
        Str left_out = p >= 0 ? plan->kernel->parameters[p].default_text : (Str){0};
        if (p < 0 || plan_has(plan, p)) {
            buffer_add(&out, at, size ? size : 1);
        } else if (kernel_tunes(plan->kernel, name)) {
            is_tuned = true;
            buffer_printf(&out, "%s[\"%.*s\"]", meta, STR_ARGS(name));
        } else if (left_out.size) {
            buffer_printf(&out, "(%.*s)", STR_ARGS(left_out));
        } else {
            return NULL;
        }
        at += size ? size : 1;
    }
    if (!is_tuned) return buffer_text(&out);
    return arena_printf(arena, "_may_be(%s, %s, lambda %s: %s)", plan->callee,
                        given_text(arena, plan), meta, buffer_text(&out));
}

/// Python that holds where a check matters: where autograd asks for the gradient of an input, or for any one that an output's leads to.
/// NULL: it cannot be said.
static const char *check_need_text(Arena *arena, const LaunchPlan *plan, const StepsPlace *place,
                                   const StepCheck *check) {
    int of = parameter_find(plan->kernel, str_from(check->of));
    bool is_input = of >= 0 && plan->passed[of] && !parameter_is_output(plan_parameter(plan, of));
    const char *need = is_input ? need_text_at(arena, plan, place->ctx, place->before, check->of)
                                : arena_printf(arena, "any(%s.needs_input_grad)", place->ctx);
    if (!*check->guard) return need;
    const char *flags = flags_text(arena, plan, check->guard);
    return flags ? arena_printf(arena, "%s and (%s)", need, flags) : NULL;
}

static const char *list_of_ranges(Arena *arena, const StepCheck *check, const char *programs) {
    Buffer out = buffer_new(arena);
    for (int k = 0; k < check->range_count; k++)
        buffer_printf(&out, "%s%s", k ? ", " : "(",
                      quotients_in_place(arena, text_with_grid(arena, check->ranges[k], programs)));
    buffer_puts(&out, check->range_count > 1 ? ")" : check->range_count ? ",)" : "()");
    return buffer_text(&out);
}

/// What the Function passes to the helper that looks.
static Texts check_arguments(Arena *arena, const StepCheck *check, const char *programs) {
    Texts arguments = {0};
    LIST_PUSH(arena, &arguments, arena_printf(arena, "\"%s\"", check->of));
    for (int k = 0; k < check->range_count && !check->other; k++)
        LIST_PUSH(arena, &arguments,
                  quotients_in_place(arena, text_with_grid(arena, check->ranges[k], programs)));
    if (!check->other) return arguments;
    LIST_PUSH(arena, &arguments,
              quotients_in_place(arena, text_with_grid(arena, check->distance, programs)));
    LIST_PUSH(arena, &arguments, list_of_ranges(arena, check, programs));
    LIST_PUSH(arena, &arguments, list_of_ranges(arena, check->other, programs));
    if (check->programs)
        LIST_PUSH(arena, &arguments, arena_printf(arena, "programs=%d", check->programs));
    return arguments;
}

/// Of a grid that a tuner may decide, the programs that there are at least.
static const char *least_programs_text(Arena *arena, const LaunchPlan *plan,
                                       const StepsPlace *place) {
    if (place->is_operator || !plan->fixes_grid)
        return arena_printf(arena, "_least_programs(%s)", place->grid);
    return arena_printf(arena, "_least_programs(%s, %s, %s)", place->grid, plan->callee,
                        plan_name(arena, plan, "given"));
}

const char *steps_check_text(Arena *arena, const LaunchPlan *plan, const StepsPlace *place) {
    const Backward *backward = plan->backward;
    bool has_launches = host_launches(arena, plan->kernel, backward->kernel->function).count > 0;
    Buffer out = buffer_new(arena);
    const char *programs = place->grid, *last_need = "";
    for (int i = 0; i < plan->backward->step_count; i++) {
        const StepCheck *check = &plan->backward->steps[i];
        int most_axis, inner = place->indent + 4;
        if (!step_check_is_made(plan->backward, check, has_launches)) continue;
        StepCheck own = check_that_is_said(arena, plan, check, !check->other);
        check = &own;
        StepCheck other = {0};
        if (check->other) {
            other = check_that_is_said(arena, plan, check->other, false);
            own.other = &other;
        }
        const char *need = check_need_text(arena, plan, place, check);
        if (!need || !check->range_count || !is_check_said(plan, check, &most_axis)) continue;
        bool is_open = most_axis >= 0 && grid_is_tuned(plan);
        if ((most_axis > 0 || is_open) && programs == place->grid) {
            programs = programs_name(arena, plan);
            buffer_printf(&out, "%*s%s = %s\n", place->indent, "", programs,
                          is_open ? least_programs_text(arena, plan, place)
                                  : arena_printf(arena, "(*%s, 1, 1)", place->grid));
            last_need = "";
        }
        Texts arguments = check_arguments(arena, check, programs);
        if (strcmp(need, last_need) != 0) layout_statement(&out, place->indent, "if ", need, ":");
        last_need = need;
        const char *head = check->is_of_windows  ? "_check_windows"
                           : check->other        ? "_check_pair"
                           : check->is_of_stores ? "_check_stores"
                                                 : "_check_steps";
        buffer_printf(&out, "%*s%s\n", inner, "",
                      call_lines(arena, head, arguments.items, arguments.count, inner));
    }
    return buffer_text(&out);
}

/// Whether a parameter is the first tensor of those passed, and the only one that is written: autograd follows a view there.
static bool may_be_view(const LaunchPlan *plan, int parameter) {
    int first = -1, outputs = 0;
    for (int p = 0; p < plan->kernel->parameter_count; p++) {
        if (!plan->passed[p] || !parameter_is_pointer(plan_parameter(plan, p))) continue;
        if (first < 0) first = p;
        outputs += parameter_is_output(plan_parameter(plan, p));
    }
    return first == parameter && outputs == 1;
}

/// A call that looks at one output.
static void new_check_call(Arena *arena, Buffer *out, const LaunchPlan *plan,
                           const StepsPlace *place, int p) {
    const char *name = plan_parameter(plan, p)->name,
               *stored = plan->backward->stored ? plan->backward->stored[p] : NULL;
    bool is_given = launch_argument(plan->backward, ARGUMENT_RUNNING, name) ||
                    launch_argument(plan->backward, ARGUMENT_KEPT, name);
    int most_axis;
    Texts arguments = {0};
    LIST_PUSH(arena, &arguments, arena_printf(arena, "\"%s\"", name));
    LIST_PUSH(arena, &arguments,
              arena_printf(arena, place->is_operator ? "_%s" : "%s", name));  // as it is unpacked
    LIST_PUSH(arena, &arguments,
              is_given ? "False" : need_text_at(arena, plan, place->ctx, place->before, name));
    if (stored && !is_given && is_said(plan, stored, &most_axis)) {
        const char *grid =
            most_axis > 0 ? arena_printf(arena, "(*%s, 1, 1)", place->grid) : place->grid;
        LIST_PUSH(arena, &arguments,
                  arena_printf(arena, "stored=%s", text_with_grid(arena, stored, grid)));
    }
    if (place->is_operator || may_be_view(plan, p))
        LIST_PUSH(arena, &arguments, "may_be_view=True");
    Buffer call = buffer_new(arena);
    for (LIST_EACH(int, i, arguments))
        buffer_printf(&call, "%s%s", i ? ", " : "", arguments.items[i]);
    layout_statement(out, place->indent + 4, "_check_new",
                     arena_printf(arena, "(%s)", buffer_text(&call)), "");
}

const char *new_check_text(Arena *arena, const LaunchPlan *plan, const StepsPlace *place) {
    const Backward *backward = plan->backward;
    if (host_launches(arena, plan->kernel, backward->kernel->function).count) return "";
    Buffer out = buffer_new(arena);
    for (int p = 0; p < plan->kernel->parameter_count; p++) {
        if (!plan->passed[p] || !parameter_is_output(plan_parameter(plan, p))) continue;
        if (!out.size)
            buffer_printf(&out, "%*sif any(%s.needs_input_grad):\n", place->indent, "", place->ctx);
        new_check_call(arena, &out, plan, place, p);
    }
    return buffer_text(&out);
}

const char *steps_comment(Arena *arena, const Backward *backward, WrapperKind wrapper) {
    Buffer out = buffer_new(arena);
    const Function *forward = backward->kernel->function;
    bool has_launches = host_launches(arena, forward->definition, forward).count > 0;
    for (int i = 0; wrapper == WRAPPER_NONE && i < backward->step_count; i++) {
        const StepCheck *check = &backward->steps[i];
        if (!step_check_is_made(backward, check, has_launches)) continue;
        if (!out.size)
            buffer_puts(
                &out, "    # Gradients are wrong where rows lie on each other. Of these, (step, "
                      "count), each\n    # step has to go over all that the smaller ones reach:\n");
        buffer_printf(&out, "    # %s:", check->of);
        for (int k = 0; k < check->range_count; k++)
            buffer_printf(&out, "%s %s", k ? "," : "",
                          text_with_grid(arena, check->ranges[k], "grid"));
        buffer_printf(&out, "%s%s\n", *check->guard ? " where " : "", check->guard);
    }
    return buffer_text(&out);
}
