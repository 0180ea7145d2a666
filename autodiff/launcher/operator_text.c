// A launch plan in, a torch.library.triton_op out: fresh tensors instead of written arguments, the gradient as a second operator.
#include "autodiff/launcher/operator_text.h"

#include <ctype.h>
#include <string.h>

#include "analysis/host/launch.h"
#include "analysis/launches/launch_functions.h"
#include "autodiff/emit/emit_layout.h"
#include "autodiff/function/grid_text.h"
#include "autodiff/function/part_text.h"
#include "autodiff/function/stored_text.h"
#include "autodiff/function/tape_text.h"
#include "autodiff/launcher/operator_launch.h"
#include "autodiff/plan/parts.h"

static const Parameter *parameter_at(const OperatorPlan *plan, int index) {
    return &plan->launch->backward->kernel->function->parameters[index];
}

static bool is_pointer(const Parameter *parameter) {
    return parameter->value->type.kind == TYPE_POINTER;
}

static bool is_output(const Parameter *parameter) {
    return is_pointer(parameter) && parameter->is_stored;
}

/* ---- types ---- */

typedef struct Kinds {
    bool is_bool, is_int, is_float, is_string, is_none, is_other;
} Kinds;

static void kinds_add(Kinds *kinds, const HostValue *value) {
    if (!value || value->kind == HOST_UNKNOWN) return;
    if (value->kind == HOST_TENSOR) {
        const HostInput *input = value->tensor->buffer->input;
        if (input && input->is_optional) kinds->is_none = true;
        return;
    }
    if (value->kind == HOST_INPUT && value->input->is_optional) kinds->is_none = true;
    if (!value->is_concrete) return;
    switch (value->constant.kind) {
    case CONSTANT_NONE: kinds->is_none = true; break;
    case CONSTANT_BOOL: kinds->is_bool = true; break;
    case CONSTANT_INT: kinds->is_int = true; break;
    case CONSTANT_FLOAT: kinds->is_float = true; break;
    case CONSTANT_STRING: kinds->is_string = true; break;
    default: kinds->is_other = true; break;
    }
}

/// What the launches pass, under a few choices of the launcher's flags and optional arguments.
static void kinds_of_launches(const Module *module, const LaunchPlan *launch, Kinds *kinds) {
    enum { FLAGS = 2 };
    for (LIST_EACH(int, i, module->launches)) {
        const LaunchSite *site = &module->launches.items[i];
        if (site->kernel != launch->kernel) continue;
        for (int variant = 0, variants = 1; variant < variants; variant++) {
            HostPolicy policy = {.variant = variant,
                                 .keep_blocks = true,
                                 .function = launch->backward->kernel->function};
            const HostLaunch *found = host_launch(module, site, &policy);
            variants = 1 << (found->flag_count < FLAGS ? found->flag_count : FLAGS);
            for (int p = 0; p < found->argument_count && p < launch->kernel->parameter_count; p++)
                kinds_add(&kinds[p], found->arguments[p].value);
        }
    }
}

/// The kernel's own idea of a scalar that no launch tells.
static void kinds_of_parameter(const Parameter *parameter, Kinds *kinds) {
    if (kinds->is_bool || kinds->is_int || kinds->is_float || kinds->is_string || kinds->is_other)
        return;
    DType element = parameter->value->type.element;
    if (element.code == DTYPE_INT1)
        kinds->is_bool = true;
    else if (dtype_is_float(element))
        kinds->is_float = true;
    else
        kinds->is_int = true;
}

/// An annotation that operators have; NULL for what they cannot take.
static const char *annotation_of(Arena *arena, const Parameter *parameter, Kinds kinds) {
    const char *base = "torch.Tensor";
    if (!is_pointer(parameter)) {
        kinds_of_parameter(parameter, &kinds);
        int count = kinds.is_bool + (kinds.is_int || kinds.is_float) + kinds.is_string;
        if (kinds.is_other || count > 1) return NULL;
        base = kinds.is_bool ? "bool" : kinds.is_string ? "str" : kinds.is_float ? "float" : "int";
    }
    bool optional = kinds.is_none || parameter->is_optional;
    return optional ? arena_printf(arena, "typing.Optional[%s]", base) : base;
}

static bool is_optional_type(const char *annotation) {
    return strncmp(annotation, "typing.Optional", 15) == 0;
}

/* ---- the plan ---- */

static void refuse(OperatorPlan *plan, const char *why) {
    if (!plan->refusal) plan->refusal = why;
}

static void plan_types(Arena *arena, const Module *module, OperatorPlan *plan) {
    const FunctionDefinition *kernel = plan->launch->kernel;
    Kinds *kinds = ARENA_ARRAY(arena, Kinds, kernel->parameter_count + 1);
    kinds_of_launches(module, plan->launch, kinds);
    plan->types = ARENA_ARRAY(arena, const char *, kernel->parameter_count + 1);
    for (int p = 0; p < kernel->parameter_count; p++) {
        const Parameter *parameter = parameter_at(plan, p);
        const Function *forward = plan->launch->backward->kernel->function;
        if (launches_functions(arena, forward, p).count ||
            launches_lengths(arena, forward, p).count)
            kinds[p].is_other = true;
        plan->types[p] = annotation_of(arena, parameter, kinds[p]);
        if (!plan->launch->passed[p]) continue;
        if (parameter->value->type.kind == TYPE_DESCRIPTOR)
            refuse(plan, arena_printf(arena, "`%s` is a tensor descriptor", parameter->name));
        else if (parameter->value->type.kind == TYPE_TUPLE)
            refuse(plan, arena_printf(arena, "`%s` is a tuple", parameter->name));
        else if (!plan->types[p])
            refuse(plan, arena_printf(arena, "`%s` is of a type that no operator takes",
                                      parameter->name));
        else if (is_output(parameter) && is_optional_type(plan->types[p]))
            refuse(plan, arena_printf(arena, "its output `%s` may be None", parameter->name));
    }
}

static void plan_roles(OperatorPlan *plan, Arena *arena) {
    const Backward *backward = plan->launch->backward;
    for (int i = 0; i < backward->launches[0].argument_count; i++) {
        const BackwardArgument *argument = &backward->launches[0].arguments[i];
        bool known = argument->use != ARGUMENT_BEFORE && argument->use != ARGUMENT_AMID &&
                     argument->use != ARGUMENT_RUNNING;
        if (!known) refuse(plan, arena_printf(arena, "it updates `%s` in place", argument->of));
        bool is_whole = argument->use != ARGUMENT_KEPT ||
                        (launch_argument(backward, ARGUMENT_UPSTREAM, argument->of) &&
                         !launch_argument(backward, ARGUMENT_GRADIENT, argument->of));
        if (!is_whole)
            refuse(plan, arena_printf(arena, "what `%s` held has a gradient", argument->of));
        if (argument->is_program_sum)
            refuse(plan, arena_printf(arena, "its `%s` is a number, which has no gradient in one",
                                      argument->of));
    }
    for (int p = 0; p < plan->launch->kernel->parameter_count; p++)
        if (strcmp(parameter_at(plan, p)->name, "grid") == 0 ||
            strcmp(parameter_at(plan, p)->name, "torch") == 0)
            refuse(plan, arena_printf(arena, "it has a parameter called `%s`",
                                      parameter_at(plan, p)->name));
    if (backward->joined) refuse(plan, "it gets one tensor under two names");
    if (plan_has_parts(plan->launch)) refuse(plan, "it reads around the views that it gets");
    if (plan->launch->kernel->has_heuristics)
        refuse(plan, "it has heuristics, which wrap_triton does not take");
}

OperatorPlan operator_plan(Arena *arena, const Module *module, const LaunchPlan *launch) {
    OperatorPlan plan = {.launch = launch,
                         .name = arena_printf(arena, "%.*s_op", STR_ARGS(launch->kernel->name))};
    plan.is_filled = ARENA_ARRAY(arena, bool, launch->kernel->parameter_count + 1);
    plan_roles(&plan, arena);
    plan_types(arena, module, &plan);
    bool is_first = true;
    for (LIST_EACH(int, i, module->launches)) {
        const LaunchSite *site = &module->launches.items[i];
        if (site->kernel != launch->kernel) continue;
        operator_plan_launch(arena, module, site, &plan, is_first);
        is_first = false;
    }
    for (int p = 0; p < launch->kernel->parameter_count; p++) {
        const Parameter *parameter = parameter_at(&plan, p);
        bool has_contents = launch_argument(launch->backward, ARGUMENT_KEPT, parameter->name);
        // without a launch nobody says that it was new
        if (has_contents || (is_first && is_output(parameter))) plan.is_filled[p] = true;
    }
    return plan;
}

/* ---- parts of the text ---- */

static void add_body(Buffer *out, const char *head, const char *text) {
    layout_statement(out, 4, head, text, "");
}

static const char *joined(Arena *arena, const Texts *names, const char *open, const char *close) {
    Buffer text = buffer_new(arena);
    buffer_puts(&text, open);
    for (int i = 0; i < names->count; i++)
        buffer_printf(&text, "%s%s", i ? ", " : "", names->items[i]);
    buffer_puts(&text, close);
    return buffer_text(&text);
}

static const char *tuple_of(Arena *arena, const Texts *names) {
    if (names->count == 1) return arena_printf(arena, "(%s,)", names->items[0]);
    return joined(arena, names, "(", ")");
}

static const char *value_of(Arena *arena, const Texts *names) {
    return names->count == 1 ? names->items[0] : joined(arena, names, "(", ")");
}

/// `a, b = source`, a name a line where that is too long.
static void add_unpack(Buffer *out, const Texts *names, const char *source) {
    Arena *arena = out->arena;
    const char *left = names->count == 1 ? arena_printf(arena, "(%s,)", names->items[0])
                                         : joined(arena, names, "", "");
    if (strlen(left) + strlen(source) + 7 <= LINE_LIMIT) {
        buffer_printf(out, "    %s = %s\n", left, source);
        return;
    }
    buffer_puts(out, "    (\n");
    for (int i = 0; i < names->count; i++) buffer_printf(out, "        %s,\n", names->items[i]);
    buffer_printf(out, "    ) = %s\n", source);
}

/// The grid's own parameters: its sizes, or what computes them beside the kernel's arguments.
static void push_grid(Arena *arena, Texts *names, const OperatorPlan *plan, bool annotated) {
    if (!plan->grid) {
        LIST_PUSH(arena, names, annotated ? "grid: typing.Sequence[int]" : "grid");
    }
    for (int i = 0; i < plan->free.count; i++)
        LIST_PUSH(arena, names,
                  annotated ? arena_printf(arena, "%s: int", plan->free.items[i])
                            : plan->free.items[i]);
}

/// Arguments of the operator in front of the kernel's own.
static int operator_leading(const OperatorPlan *plan) {
    return (plan->grid ? 0 : 1) + plan->free.count;
}

static void push_options(Arena *arena, Texts *names, const OperatorPlan *plan, const char *format) {
    for (int i = 0; i < plan->options.count; i++) {
        const char *name = str_dup(arena, plan->options.items[i]);
        if (strcmp(format, "type") == 0)
            name = arena_printf(arena, "%s: int", name);
        else if (strcmp(format, "keyword") == 0)
            name = arena_printf(arena, "%s=%s", name, name);
        LIST_PUSH(arena, names, name);
    }
}

static void add_launch(Arena *arena, Buffer *out, const OperatorPlan *plan, const char *kernel,
                       const Texts *arguments) {
    add_body(out,
             arena_printf(arena, "torch.library.wrap_triton(%s)[%s]", kernel,
                          plan->grid ? "grid" : "tuple(grid)"),
             joined(arena, arguments, "(", ")"));
}

/// ` -> type:` of a function that returns so many tensors.
static const char *returned_type(Arena *arena, int count) {
    if (count == 1) return " -> torch.Tensor:";
    Texts types = {0};
    for (int i = 0; i < count; i++) LIST_PUSH(arena, &types, "torch.Tensor");
    const char *line = arena_printf(arena, " -> %s:", joined(arena, &types, "typing.Tuple[", "]"));
    if (strlen(line) < LINE_LIMIT) return line;
    const char *inner = joined(arena, &types, "", "");
    if (strlen(inner) + 4 <= LINE_LIMIT)
        return arena_printf(arena, " -> typing.Tuple[\n    %s\n]:", inner);
    Buffer lines = buffer_new(arena);
    buffer_puts(&lines, " -> typing.Tuple[\n");
    for (int i = 0; i < count; i++) buffer_puts(&lines, "    torch.Tensor,\n");
    buffer_puts(&lines, "]:");
    return buffer_text(&lines);
}

static Texts outputs_of(Arena *arena, const OperatorPlan *plan) {
    Texts outputs = {0};
    for (int p = 0; p < plan->launch->kernel->parameter_count; p++)
        if (plan->launch->passed[p] && is_output(parameter_at(plan, p)))
            LIST_PUSH(arena, &outputs, parameter_at(plan, p)->name);
    return outputs;
}

static void add_decorator(Buffer *out, const char *space, const char *name) {
    Arena *arena = out->arena;
    layout_statement(out, 0, "@torch.library.triton_op",
                     arena_printf(arena, "(\"%s::%s\", mutates_args=())", space, name), "");
}

/* ---- the forward operator ---- */

static void add_forward(Arena *arena, Buffer *out, const OperatorPlan *plan, const char *space) {
    const FunctionDefinition *kernel = plan->launch->kernel;
    const char *kernel_name = str_dup(arena, kernel->name);
    Texts parameters = {0}, call = {0}, outputs = outputs_of(arena, plan);
    push_grid(arena, &parameters, plan, true);
    for (int p = 0; p < kernel->parameter_count; p++) {
        if (!plan->launch->passed[p]) continue;
        const char *name = parameter_at(plan, p)->name;
        LIST_PUSH(arena, &parameters, arena_printf(arena, "%s: %s", name, plan->types[p]));
        LIST_PUSH(arena, &call,
                  p < plan->launch->positional ? name : arena_printf(arena, "%s=%s", name, name));
    }
    push_options(arena, &parameters, plan, "type");
    push_options(arena, &call, plan, "keyword");
    add_decorator(out, space, kernel_name);
    layout_statement(out, 0, arena_printf(arena, "def %s", plan->name),
                     joined(arena, &parameters, "(", ")"), returned_type(arena, outputs.count));
    Texts quoted = {0};
    for (int i = 0; i < outputs.count; i++)
        LIST_PUSH(arena, &quoted, arena_printf(arena, "`%s`", outputs.items[i]));
    buffer_printf(out, "    \"\"\"`%s` as a function: new tensors like %s, written by it.\"\"\"\n",
                  kernel_name, joined(arena, &quoted, "", ""));
    add_body(out, "_no_tangents", "()");
    for (int p = 0; p < kernel->parameter_count; p++) {
        const Parameter *parameter = parameter_at(plan, p);
        if (!plan->launch->passed[p] || !is_output(parameter)) continue;
        add_body(out, arena_printf(arena, "%s = ", parameter->name),
                 arena_printf(arena, plan->is_filled[p] ? "_saved_copy(%s)" : "_empty_as(%s)",
                              parameter->name));
    }
    if (plan->grid)
        add_body(out, "grid = ", plan->grid);  // its own line: the launch stays readable
    add_launch(arena, out, plan, plan->launch->callee, &call);
    add_body(out, "return ", value_of(arena, &outputs));
}

/* ---- the backward operator ---- */

static bool is_optional_parameter(const OperatorPlan *plan, const char *name) {
    for (int p = 0; p < plan->launch->kernel->parameter_count; p++)
        if (strcmp(parameter_at(plan, p)->name, name) == 0) return is_optional_type(plan->types[p]);
    return false;
}

static int parameter_index(const OperatorPlan *plan, const char *name) {
    for (int p = 0; p < plan->launch->kernel->parameter_count; p++)
        if (strcmp(parameter_at(plan, p)->name, name) == 0) return p;
    return -1;
}

/// Values that the backward needs of the forward, and inputs whose layout a gradient has; tensors first.
static void list_saved(Arena *arena, const OperatorPlan *plan, Texts *tensors, Texts *scalars) {
    const Backward *backward = plan->launch->backward;
    for (int p = 0; p < plan->launch->kernel->parameter_count; p++) {
        if (!plan->launch->passed[p]) continue;
        const Parameter *parameter = parameter_at(plan, p);
        bool same =
            launch_argument(backward, ARGUMENT_SAME, parameter->name) ||
            (plan->grid && !is_pointer(parameter) && operator_grid_reads(plan, parameter->name));
        bool gradient =
            launch_argument(backward, ARGUMENT_GRADIENT, parameter->name) ||
            (plan->grid && is_pointer(parameter) && operator_grid_reads(plan, parameter->name));
        if (is_pointer(parameter) && (same || gradient)) LIST_PUSH(arena, tensors, parameter->name);
        if (!is_pointer(parameter) && same) LIST_PUSH(arena, scalars, parameter->name);
    }
}

static const char *type_of(const OperatorPlan *plan, const char *name) {
    int index = parameter_index(plan, name);
    return index >= 0 ? plan->types[index] : "int";
}

/// Whether the backward operator returns it: a gradient, or that of what an output held before.
static bool is_result(const BackwardArgument *argument) {
    return argument->use == ARGUMENT_GRADIENT || argument->use == ARGUMENT_KEPT;
}

/// Whether Python names no parameter of the kernel but these.
static bool names_only(const OperatorPlan *plan, const char *text, const Texts *known) {
    for (const char *at = text; *at;) {
        size_t size = 0;
        while (byte_is_word(at[size])) size++;
        Str name = {at, size};
        bool is_known = !size || parameter_find(plan->launch->kernel, name) < 0;
        for (int i = 0; i < known->count; i++) is_known |= str_is(name, known->items[i]);
        if (!is_known) return false;
        at += size ? size : 1;
    }
    return true;
}

/// The buffer of a gradient; that of what an output held begins as a copy of the upstream one.
static void add_result(Arena *arena, Buffer *out, const OperatorPlan *plan,
                       const BackwardArgument *argument, const Texts *scalars) {
    const char *target = arena_printf(arena, "%s = ", argument->name);
    if (argument->use == ARGUMENT_KEPT) {
        const BackwardArgument *upstream =
            launch_argument(plan->launch->backward, ARGUMENT_UPSTREAM, argument->of);
        add_body(out, target, arena_printf(arena, "_saved_copy(%s)", upstream->name));
        return;
    }
    const char *stored = stored_operator_text(arena, plan->launch, argument);
    if (plan->grid || !stored || !names_only(plan, stored, scalars)) stored = NULL;
    if (stored) stored = arena_printf(arena, ", stored=_unless_compiled(%s)", stored);
    add_body(out, target,
             arena_printf(arena, "%s(%s%s%s)",
                          indexed_is(plan->launch, argument->of) ? "_gradient_within"
                                                                 : "_gradient_buffer",
                          argument->of,
                          argument->is_float32 ? ", accumulate=True, wanted=True" : ", wanted=True",
                          stored ? stored : ""));
}

static void add_backward(Arena *arena, Buffer *out, const OperatorPlan *plan, const char *space) {
    const BackwardLaunch *launch = &plan->launch->backward->launches[0];
    Texts parameters = {0}, call = {0}, results = {0}, tensors = {0}, scalars = {0};
    push_grid(arena, &parameters, plan, true);
    list_saved(arena, plan, &tensors, &scalars);
    for (int i = 0; i < launch->argument_count; i++)
        if (launch->arguments[i].use == ARGUMENT_UPSTREAM)
            LIST_PUSH(arena, &parameters,
                      arena_printf(arena, "%s: torch.Tensor", launch->arguments[i].name));
    for (int i = 0; i < tensors.count + scalars.count; i++) {
        const char *name = i < tensors.count ? tensors.items[i] : scalars.items[i - tensors.count];
        LIST_PUSH(arena, &parameters, arena_printf(arena, "%s: %s", name, type_of(plan, name)));
    }
    push_options(arena, &parameters, plan, "type");
    for (int i = 0; i < launch->argument_count; i++) {
        const BackwardArgument *argument = &launch->arguments[i];
        bool same = argument->use == ARGUMENT_SAME;
        int index = same ? parameter_index(plan, argument->of) : -1;
        bool scratch = argument->use == ARGUMENT_SCRATCH || argument->use == ARGUMENT_STEPS;
        if (scratch || (index >= 0 && !plan->launch->passed[index])) continue;
        LIST_PUSH(
            arena, &call,
            arena_printf(arena, "%s=%s", argument->name, same ? argument->of : argument->name));
        if (!is_result(argument)) continue;
        const char *result = argument->name;
        bool optional = is_optional_parameter(plan, argument->of);
        if (optional)
            result =
                arena_printf(arena, "_present(%s, %s)", argument->name, launch->arguments[0].name);
        else if (argument->is_float32)
            result = arena_printf(arena, "%s.to(%s.dtype)", argument->name, argument->of);
        LIST_PUSH(arena, &results, result);
    }
    add_decorator(out, space, launch->kernel);
    layout_statement(out, 0, arena_printf(arena, "def %s_op", launch->kernel),
                     joined(arena, &parameters, "(", ")"), returned_type(arena, results.count));
    add_body(out, "_no_tangents", "()");
    for (int i = 0; i < launch->argument_count; i++) {
        const BackwardArgument *argument = &launch->arguments[i];
        if (is_result(argument)) add_result(arena, out, plan, argument, &scalars);
    }
    if (plan->grid) add_body(out, "grid = ", plan->grid);
    buffer_puts(out, offsets_check_text(arena, plan->launch, "grid", 4));
    if (launch_counts_programs(launch)) {
        Texts rest = {0};
        buffer_puts(out, tape_statements(arena, plan->launch, "grid", call.items, call.count, 4,
                                         &rest.items, &rest.count));
        rest.capacity = rest.count;
        call = rest;
    }
    push_options(arena, &call, plan, "keyword");
    add_launch(arena, out, plan, launch->kernel, &call);
    for (int i = 0; i < launch->argument_count; i++) {
        const BackwardArgument *argument = &launch->arguments[i];
        if (argument->use != ARGUMENT_GRADIENT) continue;
        if (indexed_is(plan->launch, argument->of))
            add_body(out, "_check_within",
                     arena_printf(arena, "(\"%s\", %s, True)", argument->of, argument->name));
        else
            add_body(out, "_check_between", arena_printf(arena, "(%s)", argument->name));
    }
    add_body(out, "return ", value_of(arena, &results));
}

/* ---- what connects them ---- */

static void add_save(Arena *arena, Buffer *out, const OperatorPlan *plan) {
    const Backward *backward = plan->launch->backward;
    Texts inputs = {0}, tensors = {0}, scalars = {0}, outputs = outputs_of(arena, plan), used = {0},
          strides = {0};
    list_saved(arena, plan, &tensors, &scalars);
    Texts kept = {0};
    push_grid(arena, &kept, plan, false);
    for (int i = 0; i < scalars.count; i++) LIST_PUSH(arena, &kept, scalars.items[i]);
    push_options(arena, &kept, plan, "name");
    push_grid(arena, &inputs, plan, false);
    for (int p = 0; p < plan->launch->kernel->parameter_count; p++) {
        if (!plan->launch->passed[p]) continue;
        const Parameter *parameter = parameter_at(plan, p);
        bool is_used = !is_output(parameter);
        LIST_PUSH(arena, &inputs,
                  is_used ? parameter->name : arena_printf(arena, "_%s", parameter->name));
    }
    push_options(arena, &inputs, plan, "name");
    for (int i = 0; i < outputs.count; i++) {
        LIST_PUSH(arena, &used, outputs.items[i]);
        if (launch_argument(backward, ARGUMENT_UPSTREAM, outputs.items[i]))
            LIST_PUSH(arena, &strides, arena_printf(arena, "%s.stride()", outputs.items[i]));
    }
    buffer_printf(out, "def _%s_save(ctx, inputs, output):\n", plan->name);
    add_unpack(out, &inputs, "inputs");
    StepsPlace place = {"ctx", "grid", operator_leading(plan), 4, true};
    if (!plan->grid) {
        buffer_puts(out, grid_check_of(arena, plan->launch, "grid", "{}", 4));
        buffer_puts(out, new_check_text(arena, plan->launch, &place));
        buffer_puts(out, steps_check_text(arena, plan->launch, &place));
    }
    add_body(out, arena_printf(arena, "%s = ", joined(arena, &used, "", "")), "output");
    add_body(out, "_save", joined(arena, &tensors, tensors.count ? "(ctx, " : "(ctx", ")"));
    add_body(out, "ctx.rest = ", tuple_of(arena, &kept));
    add_body(out, "ctx.strides = ", tuple_of(arena, &strides));
    buffer_puts(out, indexed_rooms_text(arena, plan->launch, "ctx", 4));
}

static void add_gradients(Arena *arena, Buffer *out, const OperatorPlan *plan) {
    const Backward *backward = plan->launch->backward;
    const BackwardLaunch *launch = &backward->launches[0];
    Texts parameters = {0}, tensors = {0}, scalars = {0}, kept = {0}, call = {0}, gradients = {0},
          results = {0}, outputs = outputs_of(arena, plan);
    list_saved(arena, plan, &tensors, &scalars);
    LIST_PUSH(arena, &parameters, "ctx");
    for (int i = 0; i < outputs.count; i++) {
        const BackwardArgument *upstream =
            launch_argument(backward, ARGUMENT_UPSTREAM, outputs.items[i]);
        LIST_PUSH(arena, &parameters,
                  upstream ? upstream->name : arena_printf(arena, "_d%s", outputs.items[i]));
    }
    push_grid(arena, &kept, plan, false);
    push_grid(arena, &call, plan, false);
    int stride = 0;
    for (int i = 0; i < launch->argument_count; i++)
        if (is_result(&launch->arguments[i]))
            LIST_PUSH(arena, &gradients, launch->arguments[i].name);
    for (int i = 0; i < launch->argument_count; i++) {
        if (launch->arguments[i].use != ARGUMENT_UPSTREAM) continue;
        for (stride = 0; stride < outputs.count; stride++)
            if (strcmp(outputs.items[stride], launch->arguments[i].of) == 0) break;
        int index = 0;  // among those with an upstream gradient
        for (int k = 0; k < stride; k++)
            index += launch_argument(backward, ARGUMENT_UPSTREAM, outputs.items[k]) != NULL;
        LIST_PUSH(arena, &call,
                  arena_printf(arena, "_with_stride(%s, ctx.strides[%d])",
                               launch->arguments[i].name, index));
    }
    for (int i = 0; i < tensors.count; i++) LIST_PUSH(arena, &call, tensors.items[i]);
    for (int i = 0; i < scalars.count; i++) {
        LIST_PUSH(arena, &call, scalars.items[i]);
        LIST_PUSH(arena, &kept, scalars.items[i]);
    }
    push_options(arena, &kept, plan, "name");
    push_options(arena, &call, plan, "name");
    layout_statement(out, 0, arena_printf(arena, "def _%s_gradients", plan->name),
                     joined(arena, &parameters, "(", ")"), ":");
    add_unpack(out, &tensors, "_saved(ctx)");
    buffer_puts(out, indexed_unpack_text(arena, plan->launch, "ctx", 4));
    if (kept.count) add_unpack(out, &kept, "ctx.rest");
    add_body(out,
             arena_printf(arena, "%s = %s_op", joined(arena, &gradients, "", ""), launch->kernel),
             joined(arena, &call, "(", ")"));
    for (int i = 0; i < operator_leading(plan); i++) LIST_PUSH(arena, &results, "None");
    for (int p = 0; p < plan->launch->kernel->parameter_count; p++) {
        if (!plan->launch->passed[p]) continue;
        const char *name = parameter_at(plan, p)->name;
        const BackwardArgument *gradient = launch_argument(backward, ARGUMENT_GRADIENT, name);
        if (!gradient) gradient = launch_argument(backward, ARGUMENT_KEPT, name);
        const char *text = gradient ? gradient->name : "None";
        if (gradient && is_optional_parameter(plan, name))
            text = arena_printf(arena, "None if %s is None else %s.to(%s.dtype)", name, text, name);
        LIST_PUSH(arena, &results, text);
    }
    for (int i = 0; i < plan->options.count; i++) LIST_PUSH(arena, &results, "None");
    add_body(out, "return ", tuple_of(arena, &results));
}

const char *operator_text(Arena *arena, const OperatorPlan *plan, const char *space) {
    Buffer out = buffer_new(arena);
    add_forward(arena, &out, plan, space);
    buffer_puts(&out, "\n\n");
    add_backward(arena, &out, plan, space);
    buffer_puts(&out, "\n\n");
    add_save(arena, &out, plan);
    buffer_puts(&out, "\n\n");
    add_gradients(arena, &out, plan);
    buffer_puts(&out, "\n\n");
    layout_statement(
        &out, 0, arena_printf(arena, "%s.register_autograd", plan->name),
        arena_printf(arena, "(_%s_gradients, setup_context=_%s_save)", plan->name, plan->name), "");
    return buffer_text(&out);
}
