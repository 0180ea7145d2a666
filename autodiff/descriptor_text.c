// What an autograd.Function does about descriptors among a kernel's arguments: autograd sees their tensors, the backward's
// kernel gets these with the shapes and strides.
#include <string.h>

#include "autodiff/module_text.h"

static const Parameter *parameter_at(const LaunchPlan *plan, int index) {
    return &plan->backward->kernel->function->parameters[index];
}

bool parameter_is_descriptor(const Parameter *parameter) {
    return parameter->value->type.kind == TYPE_DESCRIPTOR || parameter->may_be_descriptor;
}

bool plan_has_descriptors(const LaunchPlan *plan) {
    for (int p = 0; p < plan->kernel->parameter_count; p++)
        if (plan->passed[p] && parameter_is_descriptor(parameter_at(plan, p))) return true;
    return false;
}

/// Constexprs that the blocks are sized by and no launch passes: what autotuning chose.
static void add_chosen(Arena *arena, Buffer *out, const LaunchPlan *plan) {
    for (int c = 0; c < plan->kernel->parameter_count; c++) {
        const Parameter *constant = parameter_at(plan, c);
        bool is_needed = false;
        for (int p = 0; p < plan->kernel->parameter_count; p++) {
            Type type = parameter_at(plan, p)->value->type;
            for (int axis = 0; type.kind == TYPE_DESCRIPTOR && axis < type.rank; axis++)
                is_needed = is_needed || (plan->passed[p] && type.dims[axis] &&
                                          poly_mentions(type.dims[axis], constant->value));
        }
        if (is_needed && !plan->passed[c])
            buffer_puts(out,
                        arena_printf(arena, "        %s = _chosen(%.*s, \"%s\")\n", constant->name,
                                     STR_ARGS(plan->kernel->name), constant->name));
    }
}

static const char *block_text(Arena *arena, const Parameter *parameter) {
    Buffer out = buffer_new(arena);
    Type type = parameter->value->type;
    for (int axis = 0; axis < type.rank; axis++)
        buffer_printf(&out, "%s%s", axis ? ", " : "",
                      type.dims[axis] ? poly_print(arena, type.dims[axis]) : "None");
    if (type.rank == 1) buffer_putc(&out, ',');
    return arena_printf(arena, "%s=(%s)", parameter->name, buffer_text(&out));
}

const char *descriptor_layout_text(Arena *arena, const LaunchPlan *plan, const char *described) {
    Buffer out = buffer_new(arena);
    add_chosen(arena, &out, plan);
    const char **arguments = ARENA_ARRAY(arena, const char *, plan->kernel->parameter_count + 1);
    int count = 0;
    arguments[count++] = described;
    for (int p = 0; p < plan->kernel->parameter_count; p++) {
        const Parameter *parameter = parameter_at(plan, p);
        if (plan->passed[p] && parameter->value->type.kind == TYPE_DESCRIPTOR)
            arguments[count++] = block_text(arena, parameter);
    }
    if (count == 1) return "";  // what may be a descriptor is a pointer to the backward
    const char *call = call_lines(arena, "ctx.sizes, ctx.steps = _layouts_of", arguments, count, 8);
    buffer_puts(&out, arena_printf(arena, "        %s\n", call));
    return buffer_text(&out);
}

const char *descriptor_number_text(Arena *arena, const BackwardArgument *argument) {
    bool is_shape = argument->use == ARGUMENT_SHAPE;
    if (!is_shape && argument->use != ARGUMENT_STRIDE) return NULL;
    return arena_printf(arena, "ctx.%s[\"%s\"][%d]", is_shape ? "sizes" : "steps", argument->of,
                        argument->axis);
}

const char *descriptor_comment(Arena *arena, const Function *backward,
                               const BackwardLaunch *launch) {
    Buffer out = buffer_new(arena);
    for (int i = 0; i < launch->argument_count; i++) {
        const BackwardArgument *argument = &launch->arguments[i];
        bool is_pointer = backward->parameters[i].value->type.kind == TYPE_POINTER;
        if (argument->use != ARGUMENT_SAME || !is_pointer ||
            strcmp(argument->name, argument->of) == 0)
            continue;
        int stem = (int)strlen(argument->name) - (int)strlen("_ptr");
        buffer_printf(
            &out,
            "    # %s, %.*s_shape_*, %.*s_stride_*: the tensor of `%s`, its shape and strides\n",
            argument->name, stem, argument->name, stem, argument->name, argument->of);
    }
    return buffer_text(&out);
}
