// Scratch of an emitted kernel, and its sums of scalars' gradients, in; the lines of its launcher that allocate them out.
#include "autodiff/function/tape_text.h"

#include <ctype.h>
#include <string.h>

#include "analysis/host/launch.h"
#include "autodiff/emit/call_lines.h"
#include "autodiff/emit/emit_layout.h"
#include "autodiff/plan/launch_plan.h"
#include "base/error.h"

static bool has_tape(const BackwardLaunch *launch) {
    for (int i = 0; i < launch->argument_count; i++)
        if (launch->arguments[i].use == ARGUMENT_SCRATCH) return true;
    return false;
}

bool launch_counts_programs(const BackwardLaunch *launch) {
    for (int i = 0; i < launch->argument_count; i++)
        if (launch->arguments[i].is_program_sum) return true;
    return has_tape(launch);
}

static const char *dtype_text(const BackwardArgument *argument) {
    return argument->dtype ? argument->dtype : "float32";
}

const char *tape_comment(Arena *arena, const BackwardLaunch *launch) {
    Buffer out = buffer_new(arena);
    if (has_tape(launch))
        buffer_puts(&out, "    # scratch memory of any contents, for each program:\n");
    for (int i = 0; i < launch->argument_count; i++) {
        const BackwardArgument *argument = &launch->arguments[i];
        if (argument->use == ARGUMENT_SCRATCH)
            buffer_printf(&out, "    # %s: %s %s\n", argument->name, argument->elements,
                          dtype_text(argument));
    }
    for (int i = 0; i < launch->argument_count; i++)
        if (launch->arguments[i].use == ARGUMENT_STEPS)
            buffer_printf(&out, "    # %s: states it has room for, at least 1; more are faster\n",
                          launch->arguments[i].name);
    return buffer_text(&out);
}

/* ---- the launcher ---- */

/// How a lambda over a launch's arguments reads the forward's parameter; NULL for other names.
static const char *meta_name(Arena *arena, const LaunchPlan *plan, Str name) {
    for (int p = 0; p < plan->kernel->parameter_count; p++) {
        const ParameterDefinition *parameter = &plan->kernel->parameters[p];
        if (!str_equal(parameter->name, name)) continue;
        bool is_default = !plan->passed[p] && parameter->default_text.size > 0 &&
                          !kernel_tunes(plan->kernel, name);
        if (is_default) return arena_printf(arena, "(%.*s)", STR_ARGS(parameter->default_text));
        const char *of = arena_printf(arena, "%.*s", STR_ARGS(name));
        const BackwardArgument *same = launch_argument(plan->backward, ARGUMENT_SAME, of);
        return arena_printf(arena, "meta[\"%s\"]", same ? same->name : of);
    }
    return NULL;
}

/// Whether an operator of sums, else of products, stands at `at`, outside of all brackets (`depth`).
static bool splits_at(const char *at, int depth, bool sums) {
    if (depth > 0 || at[0] != ' ') return false;
    return sums ? strncmp(at, " + ", 3) == 0 || strncmp(at, " - ", 3) == 0
                : strncmp(at, " * ", 3) == 0 || strncmp(at, " // ", 4) == 0;
}

/// One term a line, or one factor where it is a product.
static const char *one_a_line(Arena *arena, const char *text, int indent) {
    bool sums = false;
    Buffer out = buffer_new(arena);
    for (int pass = 0; pass < 2; pass++) {
        int depth = 0;
        for (const char *at = text; *at; at++) {
            depth += (*at == '(' || *at == '[') - (*at == ')' || *at == ']');
            sums = sums || (pass == 0 && splits_at(at, depth, true));
            if (pass == 0) continue;
            if (splits_at(at, depth, sums))
                buffer_printf(&out, "\n%*s", indent, "");
            else
                buffer_add(&out, at, 1);
        }
    }
    return buffer_text(&out);
}

/// Where the line is too long, its body goes into parentheses on lines of its own.
static const char *meta_lambda(Arena *arena, const LaunchPlan *plan, const char *text, int indent) {
    Buffer out = buffer_new(arena);
    for (const char *at = text; *at;) {
        size_t size = 0;
        while (byte_is_word(at[size])) size++;
        bool is_member = at > text && at[-1] == '.';
        const char *read = size && !is_member ? meta_name(arena, plan, (Str){at, size}) : NULL;
        if (read)
            buffer_puts(&out, read);
        else
            buffer_add(&out, at, size ? size : 1);
        at += size ? size : 1;
    }
    static const char head[] = "lambda meta: ";
    bool fits = out.size + sizeof head + (size_t)indent + 4 <= LINE_LIMIT;
    bool fits_apart = out.size + (size_t)indent + 8 <= LINE_LIMIT;
    if (!fits_apart)
        return arena_printf(arena, "%s(\n%*s%s\n%*s)", head, indent + 8, "",
                            one_a_line(arena, buffer_text(&out), indent + 8), indent + 4, "");
    return fits ? arena_printf(arena, "%s%s", head, buffer_text(&out))
                : arena_printf(arena, "%s(\n%*s%s\n%*s)", head, indent + 8, "", buffer_text(&out),
                               indent + 4, "");
}

static void add_call(Buffer *out, int indent, const char *target, const char *function,
                     const Texts *arguments) {
    const char *head = arena_printf(out->arena, "%s = %s", target, function);
    buffer_printf(out, "%*s%s\n", indent, "",
                  call_lines(out->arena, head, arguments->items, arguments->count, indent));
}

static void add_allocation(Arena *arena, Buffer *out, const LaunchPlan *plan,
                           const BackwardArgument *argument, const char *given,
                           const char *launches, int indent) {
    bool is_tape = argument->use == ARGUMENT_SCRATCH;
    Texts call = {0};
    if (is_tape) LIST_PUSH(arena, &call, given);
    LIST_PUSH(arena, &call, launches);
    LIST_PUSH(arena, &call, meta_lambda(arena, plan, argument->elements, indent));
    if (argument->trips) LIST_PUSH(arena, &call, meta_lambda(arena, plan, argument->trips, indent));
    if (is_tape && argument->dtype)
        LIST_PUSH(arena, &call, arena_printf(arena, "torch.%s", argument->dtype));
    add_call(out, indent, argument->name, is_tape ? "_state_tape" : "_tape_steps", &call);
}

const char *tape_statements(Arena *arena, const LaunchPlan *plan, const char *grid,
                            const char *const *call, int count, int indent, const char ***rest,
                            int *rest_count) {
    const BackwardLaunch *launch = &plan->backward->launches[0];
    const char *given = plan_name(arena, plan, "given"),
               *launches = plan_name(arena, plan, "launches");
    Texts known = {0}, left = {0}, search = {0};
    LIST_PUSH(arena, &left, arena_printf(arena, "**%s", given));
    for (int i = 0; i < count; i++) LIST_PUSH(arena, &known, call[i]);
    Buffer out = buffer_new(arena);
    add_call(&out, indent, given, "dict", &known);
    LIST_PUSH(arena, &search, launch->kernel);
    LIST_PUSH(arena, &search, grid);
    LIST_PUSH(arena, &search, given);
    add_call(&out, indent, launches, "_launches_of", &search);
    for (int pass = 0; pass < 2; pass++)  // sizes of tapes are in terms of steps
        for (int i = 0; i < launch->argument_count; i++) {
            const BackwardArgument *argument = &launch->arguments[i];
            bool is_sum = pass && argument->is_program_sum;
            if (argument->use != (pass ? ARGUMENT_SCRATCH : ARGUMENT_STEPS) && !is_sum) continue;
            if (is_sum) {
                const char *sizes[] = {given, launches, scalar_form(arena, plan, launch, argument)};
                Texts arguments = {.items = sizes, .count = 3};
                add_call(&out, indent, argument->name, "_program_sums", &arguments);
            } else {
                add_allocation(arena, &out, plan, argument, given, launches, indent);
            }
            LIST_PUSH(arena, &left, arena_printf(arena, "%s=%s", argument->name, argument->name));
        }
    *rest = left.items;
    *rest_count = left.count;
    return buffer_text(&out);
}

/* ---- what the forward stores for its backward: of the size that this very call needs ---- */

/// Elements along the first axis of the grid and the next ones below `axes`, in Python.
static const char *count_text(Arena *arena, const LaunchPlan *plan, const SavedValue *value,
                              int axes) {
    Buffer out = buffer_new(arena);
    for (int axis = 0; axis < axes; axis++)
        buffer_printf(&out, "%s%s[%d]", axis ? " * " : "", plan->grid, axis);
    const char *sizes[] = {value->lanes, value->columns};
    for (int i = 0; i < 2 && *sizes[i]; i++) {
        int index = parameter_find(plan->kernel, str_from(sizes[i]));
        bool is_default = index >= 0 && !plan->passed[index];
        Str size = is_default ? plan->kernel->parameters[index].default_text : str_from(sizes[i]);
        buffer_printf(&out, " * %.*s", STR_ARGS(size));
    }
    return buffer_text(&out);
}

/// A tensor on the launch's device: one that the kernel stores to, whatever its caller wants.
static const char *tensor_beside(const LaunchPlan *plan) {
    for (int p = 0; p < plan->kernel->parameter_count; p++) {
        const Parameter *parameter = plan_parameter(plan, p);
        bool is_tensor = plan->passed[p] && parameter_is_output(parameter) &&
                         !parameter_is_descriptor(parameter) && !parameter->is_optional;
        if (is_tensor) return parameter->name;
    }
    BUG("%s stores to no tensor", plan->class_name);
}

const char *saved_rows_text(Arena *arena, const LaunchPlan *plan) {
    Buffer out = buffer_new(arena);
    for (int p = 0; p < plan->kernel->parameter_count; p++) {
        if (!plan->saved[p]) continue;
        int axis = plan->saved_axis[p];
        const char *count = count_text(arena, plan, plan->saved[p], axis ? axis : plan->axes),
                   *target = arena_printf(arena, "%s = ", plan_parameter(plan, p)->name);
        const char *made = axis ? count
                                : arena_printf(arena, "_saved_rows(%s, %s, %s%s)", plan->ctx, count,
                                               tensor_beside(plan),
                                               plan->saved[p]->is_choice ? ", torch.bool" : "");
        layout_statement(&out, 8, target, made, "");
    }
    return buffer_text(&out);
}

/* ---- sums of scalars' gradients, one a program ---- */

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
