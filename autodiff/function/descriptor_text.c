// What an autograd.Function does about descriptors among a kernel's arguments: autograd sees their tensors, the backward's
// kernel gets these with the shapes and strides.
#include "autodiff/function/descriptor_text.h"

#include <string.h>

#include "autodiff/emit/call_lines.h"
#include "autodiff/plan/launch_plan.h"

/// Constexprs that the blocks are sized by and no launch passes: what autotuning chose.
static void add_chosen(Buffer *out, const LaunchPlan *plan) {
    for (int c = 0; c < plan->kernel->parameter_count; c++) {
        const Parameter *constant = plan_parameter(plan, c);
        bool is_needed = false;
        for (int p = 0; p < plan->kernel->parameter_count; p++) {
            Type type = plan_parameter(plan, p)->value->type;
            for (int axis = 0; type.kind == TYPE_DESCRIPTOR && axis < type.rank; axis++)
                is_needed = is_needed || (plan->passed[p] && type.dims[axis] &&
                                          poly_mentions(type.dims[axis], constant->value));
        }
        if (is_needed && !plan->passed[c])
            buffer_printf(out, "        %s = _chosen(%s, \"%s\")\n", constant->name, plan->callee,
                          constant->name);
    }
}

/// A size in Python; None where it is no sum of products of constexprs.
static const char *size_text(Arena *arena, const Poly *size) {
    for (int t = 0; size && t < size->count; t++)
        for (int a = 0; a < size->terms[t].atom_count; a++)
            if (size->terms[t].atoms[a]->op) return "None";
    return size ? poly_print(arena, size) : "None";
}

static const char *block_text(Arena *arena, const Parameter *parameter) {
    Buffer out = buffer_new(arena);
    Type type = parameter->value->type;
    for (int axis = 0; axis < type.rank; axis++)
        buffer_printf(&out, "%s%s", axis ? ", " : "", size_text(arena, type.dims[axis]));
    if (type.rank == 1) buffer_putc(&out, ',');
    return arena_printf(arena, "%s=(%s)", parameter->name, buffer_text(&out));
}

const char *descriptor_layout_text(Arena *arena, const LaunchPlan *plan, const char *described) {
    Buffer out = buffer_new(arena);
    add_chosen(&out, plan);
    const char **arguments = ARENA_ARRAY(arena, const char *, plan->kernel->parameter_count + 1);
    int count = 0;
    arguments[count++] = described;
    for (int p = 0; p < plan->kernel->parameter_count; p++) {
        const Parameter *parameter = plan_parameter(plan, p);
        if (plan->passed[p] && parameter->value->type.kind == TYPE_DESCRIPTOR)
            arguments[count++] = block_text(arena, parameter);
    }
    if (count == 1) return "";  // what may be a descriptor is a pointer to the backward
    const char *call = call_lines(
        arena, arena_printf(arena, "%s.sizes, %s.steps = _layouts_of", plan->ctx, plan->ctx),
        arguments, count, 8);
    buffer_puts(&out, arena_printf(arena, "        %s\n", call));
    return buffer_text(&out);
}

const char *descriptor_number_text(Arena *arena, const LaunchPlan *plan,
                                   const BackwardArgument *argument) {
    bool is_shape = argument->use == ARGUMENT_SHAPE;
    if (!is_shape && argument->use != ARGUMENT_STRIDE) return NULL;
    return arena_printf(arena, "%s.%s[\"%s\"][%d]", plan->ctx, is_shape ? "sizes" : "steps",
                        argument->of, argument->axis);
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
