// Launches: arguments bound to parameters, the autograd.Function around one launch, the user's launcher with it in place.
#include <ctype.h>
#include <string.h>

#include "analysis/launch.h"
#include "analysis/module_scope.h"
#include "autodiff/module_text.h"

enum { LINE_LIMIT = 88 };

/// The same with room for `tail` columns after the closing bracket.
static const char *call_lines_before(Arena *arena, const char *prefix, const char *const *arguments,
                                     int count, int indent, size_t tail) {
    Buffer joined = buffer_new(arena);
    for (int i = 0; i < count; i++) buffer_printf(&joined, "%s%s", i ? ", " : "", arguments[i]);
    const char *inner = buffer_text(&joined);
    bool one_line = !strchr(inner, '\n');
    size_t width = strlen(prefix) + joined.size + 2 + (size_t)indent + tail;
    if (one_line && width <= LINE_LIMIT) return arena_printf(arena, "%s(%s)", prefix, inner);
    Buffer out = buffer_new(arena);
    if (one_line && joined.size + (size_t)indent + 4 <= LINE_LIMIT) {
        buffer_printf(&out, "%s(\n%*s%s\n%*s)", prefix, indent + 4, "", inner, indent, "");
        return buffer_text(&out);
    }
    buffer_printf(&out, "%s(\n", prefix);
    for (int i = 0; i < count; i++) buffer_printf(&out, "%*s%s,\n", indent + 4, "", arguments[i]);
    buffer_printf(&out, "%*s)", indent, "");
    return buffer_text(&out);
}

const char *call_lines(Arena *arena, const char *prefix, const char *const *arguments, int count,
                       int indent) {
    return call_lines_before(arena, prefix, arguments, count, indent, 0);
}

/// A tuple display: unlike a call's arguments, ruff gives each item a line as soon as one line is too short.
static const char *tuple_lines(Arena *arena, const char *prefix, const char *const *items,
                               int count, int indent) {
    Buffer line = buffer_new(arena);
    for (int i = 0; i < count; i++) buffer_printf(&line, "%s%s", i ? ", " : "", items[i]);
    if (strlen(prefix) + line.size + 2 + (size_t)indent <= LINE_LIMIT)
        return arena_printf(arena, "%s(%s)", prefix, buffer_text(&line));
    Buffer out = buffer_new(arena);
    buffer_printf(&out, "%s(\n", prefix);
    for (int i = 0; i < count; i++) buffer_printf(&out, "%*s%s,\n", indent + 4, "", items[i]);
    buffer_printf(&out, "%*s)", indent, "");
    return buffer_text(&out);
}

static int parameter_index(const FunctionDefinition *kernel, Str name) {
    for (int i = 0; i < kernel->parameter_count; i++)
        if (str_equal(kernel->parameters[i].name, name)) return i;
    return -1;
}

static bool is_pointer_like(const Parameter *parameter) {
    return parameter->value->type.kind == TYPE_POINTER || parameter_is_descriptor(parameter);
}

static bool is_output(const Parameter *parameter) {
    return is_pointer_like(parameter) && parameter->is_stored;
}

static bool is_tuned(const FunctionDefinition *kernel, Str name) {
    for (LIST_EACH(int, i, kernel->tuned_names))
        if (str_equal(kernel->tuned_names.items[i], name)) return true;
    return false;
}

/// Spread positional arguments fill what lies between the plain ones and the first keyword's parameter.
static bool bind_spread(const Module *module, BoundLaunch *bound, SyntaxNode first,
                        SyntaxNode last) {
    const FunctionDefinition *kernel = bound->site->kernel;
    uint32_t start = node_range(module->source, first).start,
             end = node_range(module->source, last).end;
    bound->spread = (Str){module->source->text.data + start, end - start};
    bound->spread_last = bound->spread_first - 1;
    for (int p = bound->spread_first; p < kernel->parameter_count; p++) {
        if (bound->arguments[p].size || kernel->parameters[p].is_constexpr) break;
        bound->arguments[p] = STR("*");
        bound->spread_last = p;
    }
    for (int p = 0; p < kernel->parameter_count; p++) {
        const ParameterDefinition *parameter = &kernel->parameters[p];
        bool is_given = bound->arguments[p].size || parameter->default_text.size;
        if (!is_given && !is_tuned(kernel, parameter->name)) return false;
    }
    return bound->spread_last >= bound->spread_first;
}

bool launch_bind(Arena *arena, const Module *module, const LaunchSite *site, BoundLaunch *bound) {
    *bound = (BoundLaunch){.site = site, .spread_first = -1, .spread_last = -2};
    bound->arguments = ARENA_ARRAY(arena, Str, site->kernel->parameter_count + 1);
    SyntaxNode list = node_field(site->call, "arguments");
    SyntaxNode *children;
    int count = node_children(arena, list, &children);
    int next = 0, first_spread = -1, last_positional = -1;
    for (int i = 0; i < count; i++) {
        SyntaxKind kind = node_kind(children[i]);
        if (kind == SYNTAX_DICTIONARY_SPLAT) return false;
        if (kind != SYNTAX_KEYWORD_ARGUMENT) {
            last_positional = i;
            // `*x.stride()` is read as an attribute of a spread by the grammar: the text tells
            bool spreads = str_starts(node_text(module->source, children[i]), "*");
            if (spreads && first_spread < 0) {
                first_spread = i;
                bound->spread_first = next;
            }
            if (first_spread >= 0) continue;
            if (next >= site->kernel->parameter_count) return false;
            bound->arguments[next++] = node_text(module->source, children[i]);
            continue;
        }
        Str name = node_text(module->source, node_field(children[i], "name"));
        Str value = node_text(module->source, node_field(children[i], "value"));
        int index = parameter_index(site->kernel, name);
        if (index >= 0) {
            bound->arguments[index] = value;
        } else {
            LIST_PUSH(arena, &bound->option_names, name);
            LIST_PUSH(arena, &bound->options, value);
        }
    }
    return first_spread < 0 ||
           bind_spread(module, bound, children[first_spread], children[last_positional]);
}

static const char *class_name_of(Arena *arena, Str kernel) {
    Buffer name = buffer_new(arena);
    bool upper = true;
    for (size_t i = 0; i < kernel.size; i++) {
        char c = kernel.data[i];
        if (c == '_') {
            upper = true;
            continue;
        }
        buffer_putc(&name, upper ? (char)toupper((unsigned char)c) : c);
        upper = false;
    }
    buffer_puts(&name, "Function");
    return buffer_text(&name);
}

static const Parameter *parameter_at(const LaunchPlan *plan, int index) {
    return &plan->backward->kernel->function->parameters[index];
}

/// Whether `apply` will do: every written tensor has a name, and none is a view of another, which autograd takes only as a
/// function's first input and only result.
static bool is_plain(const Module *module, const LaunchPlan *plan, const BoundLaunch *bound) {
    if (!bound->site->launcher) return true;
    if (plan_has_descriptors(plan)) return false;
    for (int p = 0; p < plan->kernel->parameter_count; p++) {
        if (!is_output(parameter_at(plan, p))) continue;
        Str text = bound->arguments[p];
        if (p >= bound->spread_first && p <= bound->spread_last) return false;
        if (!text.size || str_is(text, "None")) continue;
        if (!str_is_name(text) || !launch_allocates(module, bound->site, text)) return false;
    }
    return true;
}

/// `*x.stride()`, `*x.shape`: so many numbers as `x` has axes.
static bool is_spread_of_axes(Str text) {
    return str_ends(text, ".stride()") || str_ends(text, ".shape") || str_ends(text, ".size()");
}

/// Whether only Python can tell which parameters get which arguments: `**meta`, `*arguments`, `*x.stride(), 16`.
static bool binds_at_run_time(Arena *arena, const Module *module, const LaunchSite *site) {
    SyntaxNode *children;
    int count = node_children(arena, node_field(site->call, "arguments"), &children);
    bool spreads = false;
    for (int i = 0; i < count; i++) {
        if (node_kind(children[i]) == SYNTAX_DICTIONARY_SPLAT) return true;
        Str text = node_text(module->source, children[i]);
        if (!str_starts(text, "*")) continue;
        spreads = true;
        if (!is_spread_of_axes(text)) return true;
    }
    BoundLaunch bound;
    return spreads && !launch_bind(arena, module, site, &bound);
}

LaunchPlan launch_plan(Arena *arena, const Module *module, const Backward *backward) {
    const FunctionDefinition *kernel = backward->kernel->definition;
    LaunchPlan plan = {
        .kernel = kernel, .backward = backward, .class_name = class_name_of(arena, kernel->name)};
    plan.passed = ARENA_ARRAY(arena, bool, kernel->parameter_count + 1);
    bool launched = false;
    for (LIST_EACH(int, i, module->launches)) {
        BoundLaunch bound;
        const LaunchSite *site = &module->launches.items[i];
        if (site->kernel != kernel) continue;
        if (binds_at_run_time(arena, module, site)) {
            launched = plan.has_launch = plan.has_options = true;
            for (int p = 0; p < kernel->parameter_count; p++)
                if (!is_tuned(kernel, kernel->parameters[p].name)) plan.passed[p] = true;
            continue;
        }
        if (!launch_bind(arena, module, site, &bound)) continue;
        launched = true;
        if (!is_plain(module, &plan, &bound)) plan.has_launch = true;
        if (bound.options.count) plan.has_options = true;
        for (int p = 0; p < kernel->parameter_count; p++)
            if (bound.arguments[p].size) plan.passed[p] = true;
    }
    for (int p = 0; !launched && p < kernel->parameter_count; p++)
        plan.passed[p] = !is_tuned(kernel, kernel->parameters[p].name);
    if (plan_has_descriptors(&plan)) plan.has_launch = true;
    return plan;
}

/* ---- the class ---- */

static bool in_names(const char *const *names, int count, const char *name) {
    for (int i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0) return true;
    return false;
}

const BackwardArgument *launch_argument(const Backward *backward, ArgumentUse use, const char *of) {
    const BackwardLaunch *launch = &backward->whole;
    for (int i = 0; i < launch->argument_count; i++)
        if (launch->arguments[i].use == use && strcmp(launch->arguments[i].of, of) == 0)
            return &launch->arguments[i];
    return NULL;
}

static const char *list_text(Arena *arena, const Names *names) {
    Buffer text = buffer_new(arena);
    for (int i = 0; i < names->count; i++)
        buffer_printf(&text, "%s%s", i ? ", " : "", names->items[i]);
    if (names->count == 1) buffer_putc(&text, ',');
    return buffer_text(&text);
}

static void statement(Buffer *out, const char *format, const char *text) {
    buffer_puts(out, "        ");
    buffer_puts(out, arena_printf(out->arena, "%s%s\n", format, text));
}

/// A name for a local variable that no parameter has.
static const char *fresh_name(Arena *arena, const LaunchPlan *plan, const char *name) {
    for (int p = 0; p < plan->kernel->parameter_count; p++)
        if (strcmp(parameter_at(plan, p)->name, name) == 0)
            return fresh_name(arena, plan, arena_printf(arena, "%s_", name));
    return name;
}

/// Saves what the backward reads. The first `read` of `saved` are tensors that the kernel only reads: one that the launch
/// overwrites under another name is saved as it was before.
static void save_tensors(Arena *arena, Buffer *out, const LaunchPlan *plan, const Names *saved,
                         int read, const char *launch) {
    const char *kept = fresh_name(arena, plan, "read");
    Names all = {0};
    if (read) LIST_PUSH(arena, &all, arena_printf(arena, "*%s", kept));
    for (int i = read; i < saved->count; i++) LIST_PUSH(arena, &all, saved->items[i]);
    if (read) {
        Names written = {0}, reads = {0};
        for (int i = 0; i < read; i++) LIST_PUSH(arena, &reads, saved->items[i]);
        for (int p = 0; p < plan->kernel->parameter_count; p++)
            if (plan->passed[p] && is_output(parameter_at(plan, p)))
                LIST_PUSH(arena, &written, parameter_at(plan, p)->name);
        const char *lists[] = {arena_printf(arena, "(%s)", list_text(arena, &reads)),
                               arena_printf(arena, "(%s)", list_text(arena, &written))};
        statement(out, arena_printf(arena, "%s = ", kept),
                  call_lines_before(arena, "_kept_inputs", lists, 2, 8, strlen(kept) + 3));
    }
    statement(out, "", launch);
    statement(out, "", call_lines(arena, "ctx.save_for_backward", all.items, all.count, 8));
}

static void class_forward(Arena *arena, Buffer *out, const LaunchPlan *plan, const Names *saved,
                          int read, const Names *scalars, const Names *outputs,
                          const Names *fixed) {
    Names parameters = {0}, call = {0};
    LIST_PUSH(arena, &parameters, "ctx");
    LIST_PUSH(arena, &parameters, "grid");
    if (plan->has_options) LIST_PUSH(arena, &parameters, "options");
    const char *described =
        plan_has_descriptors(plan) ? fresh_name(arena, plan, "described") : NULL;
    if (described) LIST_PUSH(arena, &parameters, described);
    for (int p = 0; p < plan->kernel->parameter_count; p++) {
        if (!plan->passed[p]) continue;
        const Parameter *parameter = parameter_at(plan, p);
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
    buffer_puts(out, scalar_forms_text(arena, reversed));
    for (int i = 0; i < reversed->argument_count; i++)
        if (reversed->arguments[i].use == ARGUMENT_BEFORE ||
            reversed->arguments[i].use == ARGUMENT_AMID)
            statement(out, arena_printf(arena, "%s = ", reversed->arguments[i].name),
                      arena_printf(arena, "_kept_copy(%s)", reversed->arguments[i].of));
    buffer_puts(out, grid_check_text(arena, plan, call.items, call.count));
    const char *launch = arena_printf(arena, "%.*s[grid]", STR_ARGS(plan->kernel->name));
    if (plan->has_options) LIST_PUSH(arena, &call, "**options");
    save_tensors(arena, out, plan, saved, read,
                 call_lines(arena, launch, call.items, call.count, 8));
    if (plan->has_options)
        statement(out, "ctx.grid, ctx.options = grid, options", "");
    else
        statement(out, "ctx.grid = grid", "");
    if (described) buffer_puts(out, descriptor_layout_text(arena, plan, described));
    if (scalars->count)
        statement(out, "",
                  scalars->count == 1
                      ? arena_printf(arena, "ctx.scalars = %s", scalars->items[0])
                      : tuple_lines(arena, "ctx.scalars = ", scalars->items, scalars->count, 8));
    Names strides = {0}, tensors = {0};
    bool optional = false;
    for (int i = 0; i < outputs->count; i++) {
        const char *name = outputs->items[i];
        LIST_PUSH(arena, &strides, arena_printf(arena, "_stride_of(%s)", name));
        LIST_PUSH(arena, &tensors, name);
        optional = true;
    }
    if (strides.count == 1) LIST_PUSH(arena, &strides, "");
    if (strides.count == 2 && !*strides.items[1])
        statement(out, "ctx.strides = ", arena_printf(arena, "(%s,)", strides.items[0]));
    else
        statement(out, "", tuple_lines(arena, "ctx.strides = ", strides.items, strides.count, 8));
    (void)optional;
    statement(
        out, "",
        call_lines(arena, "_mark_written",
                   (const char *[]){"ctx", arena_printf(arena, "(%s)", list_text(arena, outputs)),
                                    arena_printf(arena, "(%s)", list_text(arena, fixed))},
                   fixed->count ? 3 : 2, 8));
    if (outputs->count == 1)
        statement(out, "return ", outputs->items[0]);
    else
        statement(out, "", tuple_lines(arena, "return ", outputs->items, outputs->count, 8));
}

/// Arguments as a launch has them, positions, keywords and defaults; written tensors may be views.
static void class_launch(Arena *arena, Buffer *out, const LaunchPlan *plan) {
    Names parameters = {0}, call = {0}, written = {0};
    LIST_PUSH(arena, &parameters, "cls");
    LIST_PUSH(arena, &parameters, "grid");
    LIST_PUSH(arena, &call, "grid");
    if (plan->has_options) LIST_PUSH(arena, &call, "options");
    Names described = {0};
    for (int p = 0; p < plan->kernel->parameter_count; p++) {
        const Parameter *parameter = parameter_at(plan, p);
        if (plan->passed[p] && parameter_is_descriptor(parameter))
            LIST_PUSH(arena, &described,
                      arena_printf(arena, "%s=%s", parameter->name, parameter->name));
    }
    if (described.count) LIST_PUSH(arena, &call, fresh_name(arena, plan, "described"));
    for (int p = 0; p < plan->kernel->parameter_count; p++) {
        if (!plan->passed[p]) continue;
        const Parameter *parameter = parameter_at(plan, p);
        const char *tensor = parameter_is_descriptor(parameter)
                                 ? arena_printf(arena, "_base_of(%s)", parameter->name)
                                 : parameter->name;
        Str given = plan->kernel->parameters[p].default_text;
        LIST_PUSH(arena, &parameters,
                  given.size ? arena_printf(arena, "%s=%.*s", parameter->name, STR_ARGS(given))
                             : parameter->name);
        LIST_PUSH(arena, &call,
                  is_output(parameter) ? arena_printf(arena, "_own(%s)", tensor) : tensor);
        if (is_output(parameter)) LIST_PUSH(arena, &written, tensor);
    }
    if (plan->has_options) LIST_PUSH(arena, &parameters, "**options");
    buffer_puts(out, "    @classmethod\n    ");
    buffer_printf(out, "%s:\n",
                  call_lines_before(arena, "def launch", parameters.items, parameters.count, 4, 1));
    statement(out, "\"\"\"Takes what the kernel takes; what it writes to may be views.\"\"\"", "");
    if (described.count)
        statement(out, "",
                  call_lines(arena,
                             arena_printf(arena, "%s = dict", fresh_name(arena, plan, "described")),
                             described.items, described.count, 8));
    statement(out, "results = ", call_lines(arena, "cls.apply", call.items, call.count, 8));
    statement(out, "return ",
              arena_printf(arena, "_written((%s), results)", list_text(arena, &written)));
    buffer_putc(out, '\n');
}

/// `a, b, c = source`, one name a line where that is too long.
static void unpack(Buffer *out, const Names *names, const char *source) {
    const char *line = arena_printf(out->arena, "%s = %s", list_text(out->arena, names), source);
    if (strlen(line) + 8 <= LINE_LIMIT) {
        statement(out, line, "");
        return;
    }
    statement(out, "(", "");
    for (int i = 0; i < names->count; i++) buffer_printf(out, "            %s,\n", names->items[i]);
    statement(out, ") = ", source);
}

/// The gradient of what an output held before the launch, made where autograd asks for it.
static const char *gradient_before_text(Arena *arena, const LaunchPlan *plan,
                                        const BackwardArgument *kept, const Names *outputs) {
    const BackwardArgument *upstream = launch_argument(plan->backward, ARGUMENT_UPSTREAM, kept->of);
    int index = 0, place = plan->has_options ? 2 : 1;  // behind the grid
    while (index < outputs->count && strcmp(outputs->items[index], kept->of) != 0) index++;
    for (int p = 0; strcmp(parameter_at(plan, p)->name, kept->of) != 0; p++)
        place += plan->passed[p];
    const char *arguments[] = {
        upstream ? upstream->name : arena_printf(arena, "_d%s", kept->of),
        arena_printf(arena, "ctx.strides[%d]", index),
        arena_printf(arena, "ctx.needs_input_grad[%d]", place),
    };
    return call_lines_before(arena, "_gradient_before", arguments, 3, 8, strlen(kept->name) + 3);
}

static int name_index(const Names *names, const char *name) {
    int index = 0;
    while (index < names->count && strcmp(names->items[index], name) != 0) index++;
    return index;
}

/// What the launches write to; and what several of them read and is made for them, once.
static void class_buffers(Arena *arena, Buffer *out, const LaunchPlan *plan, const Names *outputs) {
    const Backward *backward = plan->backward;
    for (int i = 0; i < backward->whole.argument_count; i++) {
        const BackwardArgument *argument = &backward->whole.arguments[i];
        if (argument->is_program_sum) continue;
        const char *target = arena_printf(arena, "%s = ", argument->name);
        int index = name_index(outputs, argument->of);
        if (argument->use == ARGUMENT_GRADIENT)
            statement(out, target,
                      arena_printf(arena, "_gradient_buffer(%s%s)", argument->of,
                                   argument->is_float32 ? ", accumulate=True" : ""));
        if (argument->use == ARGUMENT_RUNNING)
            statement(out, target,
                      arena_printf(arena, "_running_gradient(_d%s, ctx.strides[%d]%s)",
                                   argument->of, index,
                                   argument->is_float32 ? ", accumulate=True" : ""));
        if (argument->use == ARGUMENT_KEPT)
            statement(out, target, gradient_before_text(arena, plan, argument, outputs));
        if (argument->use == ARGUMENT_UPSTREAM && backward->launch_count > 1)
            statement(
                out, target,
                arena_printf(arena, "_with_stride(%s, ctx.strides[%d])", argument->name, index));
    }
}

/// The launch of one kernel, with the memory that it allocates for itself and those behind it.
static void class_call(Arena *arena, Buffer *out, const LaunchPlan *plan, int number,
                       const Names *outputs) {
    const Backward *backward = plan->backward;
    const BackwardLaunch *launch = &backward->launches[number];
    Names call = {0};
    for (int i = 0; i < launch->argument_count; i++) {
        const BackwardArgument *argument = &launch->arguments[i];
        bool is_own = argument->use == ARGUMENT_SCRATCH || argument->use == ARGUMENT_STEPS;
        if (argument->is_program_sum || (is_own && number == 0)) continue;
        if (argument->use == ARGUMENT_SLICES) continue;  // it has a default
        const char *value = argument->use == ARGUMENT_SAME ? argument->of : argument->name;
        const char *given = descriptor_number_text(arena, argument);
        if (given) value = given;
        if (argument->use == ARGUMENT_UPSTREAM && backward->launch_count == 1)
            value = arena_printf(arena, "_with_stride(%s, ctx.strides[%d])", argument->name,
                                 name_index(outputs, argument->of));
        int index = argument->use == ARGUMENT_SAME
                        ? parameter_index(plan->kernel, str_from(argument->of))
                        : -1;
        if (index >= 0 && !plan->passed[index]) continue;  // autotune sets it, or it has a default
        LIST_PUSH(arena, &call, arena_printf(arena, "%s=%s", argument->name, value));
    }
    if (number == 0 && launch_counts_programs(launch)) {
        Names rest = {0};
        buffer_puts(out, tape_statements(arena, plan, "ctx.grid", call.items, call.count, 8,
                                         &rest.items, &rest.count));
        rest.capacity = rest.count;
        call = rest;
    }
    if (launch->is_tuned_before)
        LIST_PUSH(arena, &call, arena_printf(arena, "**_tuned(%s)", backward->launches[0].kernel));
    if (plan->has_options) LIST_PUSH(arena, &call, "**ctx.options");
    statement(out, "",
              call_lines(arena, arena_printf(arena, "%s[ctx.grid]", launch->kernel), call.items,
                         call.count, 8));
}

static void class_backward(Arena *arena, Buffer *out, const LaunchPlan *plan, const Names *saved,
                           const Names *scalars, const Names *outputs) {
    const Backward *backward = plan->backward;
    const BackwardLaunch *launch = &backward->whole;
    Names parameters = {0};
    LIST_PUSH(arena, &parameters, "ctx");
    for (int i = 0; i < outputs->count; i++) {
        const BackwardArgument *argument =
            launch_argument(backward, ARGUMENT_UPSTREAM, outputs->items[i]);
        LIST_PUSH(arena, &parameters,
                  argument ? argument->name : arena_printf(arena, "_d%s", outputs->items[i]));
    }
    buffer_puts(out, "\n    @staticmethod\n    ");
    buffer_printf(
        out, "%s:\n",
        call_lines_before(arena, "def backward", parameters.items, parameters.count, 4, 1));
    if (saved->count == 1)
        statement(out, arena_printf(arena, "(%s,)", saved->items[0]), " = ctx.saved_tensors");
    if (saved->count > 1) unpack(out, saved, "ctx.saved_tensors");
    if (scalars->count == 1) statement(out, scalars->items[0], " = ctx.scalars");
    if (scalars->count > 1) unpack(out, scalars, "ctx.scalars");
    class_buffers(arena, out, plan, outputs);
    for (int i = 0; i < backward->launch_count; i++) class_call(arena, out, plan, i, outputs);
    Names results = {0};
    LIST_PUSH(arena, &results, "None");
    if (plan->has_options) LIST_PUSH(arena, &results, "None");
    if (plan_has_descriptors(plan)) LIST_PUSH(arena, &results, "None");
    for (int p = 0; p < plan->kernel->parameter_count; p++) {
        if (!plan->passed[p]) continue;
        const char *name = parameter_at(plan, p)->name;
        const BackwardArgument *gradient = launch_argument(backward, ARGUMENT_GRADIENT, name);
        const BackwardArgument *running = launch_argument(backward, ARGUMENT_RUNNING, name);
        const char *text = "None";
        if (running && in_names(backward->inputs, backward->input_count, name))
            text = running->is_float32 ? arena_printf(arena, "_like(%s, _d%s)", running->name, name)
                                       : running->name;
        const BackwardArgument *kept = launch_argument(backward, ARGUMENT_KEPT, name);
        if (kept) text = kept->name;
        if (gradient && gradient->is_program_sum)
            text = arena_printf(arena, "_sum_as(%s, %s)", gradient->name,
                                scalar_form(arena, launch, gradient));
        else if (gradient)
            text = gradient->is_float32
                       ? arena_printf(arena, "_like(%s, %s)", gradient->name, gradient->of)
                       : gradient->name;
        LIST_PUSH(arena, &results, text);
    }
    statement(out, "", tuple_lines(arena, "return ", results.items, results.count, 8));
}

const char *autograd_class(Arena *arena, const LaunchPlan *plan) {
    const Backward *backward = plan->backward;
    Names saved = {0}, others = {0}, scalars = {0}, outputs = {0}, fixed = {0}, quoted = {0};
    for (int p = 0; p < plan->kernel->parameter_count; p++) {
        const Parameter *parameter = parameter_at(plan, p);
        if (!plan->passed[p]) continue;
        bool same = launch_argument(backward, ARGUMENT_SAME, parameter->name) != NULL;
        bool gradient = launch_argument(backward, ARGUMENT_GRADIENT, parameter->name) != NULL;
        const BackwardArgument *before =
            launch_argument(backward, ARGUMENT_BEFORE, parameter->name);
        if (is_pointer_like(parameter) && same && !is_output(parameter))
            LIST_PUSH(arena, &saved, parameter->name);
        else if (is_pointer_like(parameter) && (same || gradient))
            LIST_PUSH(arena, &others, parameter->name);
        const BackwardArgument *amid = launch_argument(backward, ARGUMENT_AMID, parameter->name);
        if (before) LIST_PUSH(arena, &others, before->name);
        if (amid) LIST_PUSH(arena, &others, amid->name);
        if (!is_pointer_like(parameter) && same) LIST_PUSH(arena, &scalars, parameter->name);
        if (!is_output(parameter)) continue;
        LIST_PUSH(arena, &outputs, parameter->name);
        if (!launch_argument(backward, ARGUMENT_UPSTREAM, parameter->name) &&
            !launch_argument(backward, ARGUMENT_RUNNING, parameter->name) &&
            !launch_argument(backward, ARGUMENT_KEPT, parameter->name))
            LIST_PUSH(arena, &fixed, parameter->name);
    }
    int read = outputs.count ? saved.count : 0;
    for (LIST_EACH(int, i, others)) LIST_PUSH(arena, &saved, others.items[i]);
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
    buffer_printf(&out, "class %s(torch.autograd.Function):\n", plan->class_name);
    buffer_printf(&out, "    \"\"\"A launch of `%.*s`, differentiable in %s.\"\"\"\n\n",
                  STR_ARGS(plan->kernel->name), buffer_text(&inputs));
    if (plan->has_launch) class_launch(arena, &out, plan);
    class_forward(arena, &out, plan, &saved, read, &scalars, &outputs, &fixed);
    class_backward(arena, &out, plan, &saved, &scalars, &outputs);
    return buffer_text(&out);
}

/* ---- the launcher ---- */

static const char *apply_text(Arena *arena, const Module *module, const LaunchPlan *plan,
                              const BoundLaunch *bound, int indent) {
    Names arguments = {0};
    LIST_PUSH(arena, &arguments, launch_grid_text(arena, module, bound->site));
    if (plan->has_options) {
        Buffer options = buffer_new(arena);
        buffer_putc(&options, '{');
        for (LIST_EACH(int, i, bound->options))
            buffer_printf(&options, "%s\"%.*s\": %.*s", i ? ", " : "",
                          STR_ARGS(bound->option_names.items[i]),
                          STR_ARGS(bound->options.items[i]));
        buffer_putc(&options, '}');
        LIST_PUSH(arena, &arguments, buffer_text(&options));
    }
    Buffer targets = buffer_new(arena);
    int outputs = 0, named = 0;
    for (int p = 0; p < plan->kernel->parameter_count; p++) {
        if (!plan->passed[p]) continue;
        if (p == bound->spread_first) LIST_PUSH(arena, &arguments, str_dup(arena, bound->spread));
        if (p >= bound->spread_first && p <= bound->spread_last) continue;
        Str text = bound->arguments[p];
        if (!text.size)
            text = plan->kernel->parameters[p].default_text.size
                       ? plan->kernel->parameters[p].default_text
                       : STR("None");
        const char *tensor = scalar_argument_text(arena, module, plan, bound->site, p);
        LIST_PUSH(arena, &arguments, tensor ? tensor : str_dup(arena, text));
        if (!is_output(parameter_at(plan, p))) continue;
        bool is_name = str_is_name(text) && !str_is(text, "None");
        buffer_printf(&targets, "%s%.*s", outputs ? ", " : "", STR_ARGS(is_name ? text : STR("_")));
        outputs++;
        named += is_name;
    }
    const char *prefix = arena_printf(arena, "%s%s%s.apply", named ? buffer_text(&targets) : "",
                                      named ? " = " : "", plan->class_name);
    return call_lines(arena, prefix, arguments.items, arguments.count, indent);
}

static const LaunchPlan *plan_of(const LaunchPlan *plans, int count,
                                 const FunctionDefinition *kernel) {
    for (int i = 0; i < count; i++)
        if (plans[i].kernel == kernel && !plans[i].is_apart) return &plans[i];
    return NULL;
}

static bool runs_without_gradients(const Module *module, const LaunchSite *site) {
    Str text = source_slice(node_range(module->source, site->launcher->node));
    return text_contains(text, "no_grad") || text_contains(text, "inference_mode");
}

/// `Class.launch(grid, arguments as they stand)`.
static const char *launch_text(Arena *arena, const Module *module, const LaunchPlan *plan,
                               const LaunchSite *site, int indent) {
    SyntaxNode *children;
    int count = node_children(arena, node_field(site->call, "arguments"), &children);
    Names arguments = {0};
    LIST_PUSH(arena, &arguments, launch_grid_text(arena, module, site));
    for (int i = 0; i < count; i++) {
        const char *text = str_dup(arena, node_text(module->source, children[i]));
        SyntaxNode value = node_field(children[i], "value");
        bool is_keyword = node_kind(children[i]) == SYNTAX_KEYWORD_ARGUMENT;
        for (int p = 0; p < plan->kernel->parameter_count; p++) {
            SyntaxNode given = launch_argument_node(module, site, p);
            if (!node_same(given, is_keyword ? value : children[i])) continue;
            const char *tensor = scalar_argument_text(arena, module, plan, site, p);
            if (tensor)
                text = is_keyword
                           ? arena_printf(arena, "%s=%s", parameter_at(plan, p)->name, tensor)
                           : tensor;
        }
        LIST_PUSH(arena, &arguments, text);
    }
    return call_lines(arena, arena_printf(arena, "%s.launch", plan->class_name), arguments.items,
                      arguments.count, indent);
}

typedef struct Mentions {
    const Source *source;
    Str name;
    int count;
} Mentions;

static bool visit_name(void *context, SyntaxNode node) {
    Mentions *mentions = context;
    mentions->count += node_kind(node) == SYNTAX_IDENTIFIER &&
                       str_equal(node_text(mentions->source, node), mentions->name);
    return true;
}

Range launch_place(const Module *module, const LaunchSite *site) {
    Range call = node_range(module->source, site->call), none = {.source = NULL};
    SyntaxNode parent = node_parent(site->call);
    if (node_kind(parent) == SYNTAX_EXPRESSION_STATEMENT) return call;
    SyntaxNode left = node_field(parent, "left");
    if (node_kind(parent) != SYNTAX_ASSIGNMENT || node_kind(left) != SYNTAX_IDENTIFIER ||
        node_kind(node_parent(parent)) != SYNTAX_EXPRESSION_STATEMENT)
        return none;
    Mentions mentions = {module->source, node_text(module->source, left), 0};
    syntax_walk(site->launcher->body, visit_name, &mentions);
    call.start = node_range(module->source, parent).start;
    return mentions.count == 1 ? call : none;
}

const LaunchSite *launch_after(const Module *module, Range range, uint32_t at) {
    const LaunchSite *next = NULL;
    for (LIST_EACH(int, i, module->launches)) {
        const LaunchSite *site = &module->launches.items[i];
        if (!site->launcher || site->range.start < at || site->range.end > range.end) continue;
        if (!next || site->range.start < next->range.start) next = site;
    }
    return next;
}

const char *launcher_text(Arena *arena, const Snapshot *snapshot, Range range,
                          const LaunchPlan *plans, int plan_count, const char **why) {
    const Module *module = snapshot->module;
    Buffer out = buffer_new(arena);
    uint32_t at = range.start;
    for (const LaunchSite *site; (site = launch_after(module, range, at)) != NULL;) {
        const LaunchPlan *plan = plan_of(plans, plan_count, site->kernel);
        if (runs_without_gradients(module, site)) {
            *why = "it launches under torch.no_grad";
            return NULL;
        }
        if (!plan && launch_stores_constants(arena, snapshot, site)) {
            uint32_t end = node_range(module->source, site->call).end;
            buffer_puts(&out,
                        scalar_bindings_text(arena, module, range, plans, plan_count, at, end));
            at = end;
            continue;
        }
        if (!plan) {
            *why = arena_printf(arena, "it also launches `%.*s`, which has no generated backward",
                                STR_ARGS(site->kernel->name));
            return NULL;
        }
        if ((*why = scalar_refusal(arena, module, plan, site)) != NULL) return NULL;
        BoundLaunch bound;
        Range call = launch_place(module, site);
        bool is_bound = launch_bind(arena, module, site, &bound);
        bool is_late = binds_at_run_time(arena, module, site);
        if ((!is_bound && !is_late) || !call.source) {
            *why = "its launch has arguments that the kernel does not take, or is part of an "
                   "expression";
            return NULL;
        }
        int line, column;
        source_position(module->source, call.start, &line, &column);
        buffer_puts(&out,
                    scalar_bindings_text(arena, module, range, plans, plan_count, at, call.start));
        buffer_puts(&out, !is_late && is_plain(module, plan, &bound)
                              ? apply_text(arena, module, plan, &bound, column)
                              : launch_text(arena, module, plan, site, column));
        at = call.end;
    }
    buffer_add(&out, module->source->text.data + at, range.end - at);
    return buffer_text(&out);
}
