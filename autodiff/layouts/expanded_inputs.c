// The strides of inputs that address nothing but these and their gradients.
//
// Where elements of an input share memory, programs would store several gradients to one place. In a dense copy each element has a
// place of its own, and autograd sums what belongs to one element of what was expanded.
#include "autodiff/layouts/expanded_inputs.h"

#include <stdlib.h>
#include <string.h>

#include "autodiff/layouts/tensor_strides.h"
#include "autodiff/plan/launch_plan.h"

static bool is_of(const BackwardArgument *argument, ArgumentUse use, const char *of) {
    return argument->use == use && argument->of && strcmp(argument->of, of) == 0;
}

/// The value of the launch's argument of this use; NULL: it has none.
static Value *argument_value(const Function *backward, const BackwardLaunch *launch,
                             ArgumentUse use, const char *of) {
    for (int i = 0; i < launch->argument_count; i++)
        if (is_of(&launch->arguments[i], use, of)) return backward->parameters[i].value;
    return NULL;
}

/// Whether the launch has the input, its gradient or a copy of it.
static bool launch_touches(const BackwardLaunch *launch, const char *of) {
    for (int i = 0; i < launch->argument_count; i++)
        if (launch->arguments[i].of && strcmp(launch->arguments[i].of, of) == 0) return true;
    return false;
}

static bool is_gradient(const BackwardArgument *argument) {
    return argument->use == ARGUMENT_GRADIENT && !argument->is_program_sum;
}

/// Whether the kernel has the input as it was passed, and its gradient in buffers that are laid out like it.
static bool is_plain(const BackwardLaunch *launch, const char *of) {
    for (int i = 0; i < launch->argument_count; i++) {
        const BackwardArgument *argument = &launch->arguments[i];
        bool is_plain = argument->use == ARGUMENT_SAME || argument->use == ARGUMENT_FILL ||
                        argument->use == ARGUMENT_PART_STRIDE || is_gradient(argument);
        if (argument->of && strcmp(argument->of, of) == 0 && !is_plain) return false;
    }
    return true;
}

static void describe_input(Arena *arena, const Kernel *kernel, const Function *backward,
                           BackwardLaunch *launch, const char *of) {
    AskedReads asked = {0};
    TensorStrides layout = {.asked = &asked,
                            .arena = arena,
                            .kernel = kernel,
                            .backward = backward,
                            .launch = launch,
                            .tensor = parameter_find(kernel->definition, str_from(of)),
                            .addressed = {argument_value(backward, launch, ARGUMENT_SAME, of),
                                          argument_value(backward, launch, ARGUMENT_GRADIENT, of)},
                            .part_stride =
                                argument_value(backward, launch, ARGUMENT_PART_STRIDE, of),
                            .bounds_all = true};
    if (!is_plain(launch, of) || !tensor_strides_find(&layout)) return;
    for (int axis = 0; axis < layout.rank; axis++) {
        if (layout.strides[axis] == NO_ARGUMENT) continue;
        BackwardArgument *argument = &launch->arguments[layout.strides[axis]];
        if (argument->upstream || argument->input) continue;
        argument->input = of;
        argument->axis = axis;
        argument->read = asked.list.items;
        argument->read_count = asked.list.count;
        argument->rank = layout.rank + asked.has_more_axes;
    }
}

void expanded_inputs_describe(Arena *arena, const Kernel *kernel, const Function *backward,
                              BackwardLaunch *launch) {
    for (int i = 0; i < launch->argument_count; i++) {
        const BackwardArgument *argument = &launch->arguments[i];
        // another launch of this backward may have the gradient of what this one only reads
        bool is_read = argument->use == ARGUMENT_SAME &&
                       backward->parameters[i].value->type.kind == TYPE_POINTER;
        if (is_gradient(argument) || is_read)
            describe_input(arena, kernel, backward, launch, argument->of);
    }
}

/* ---- all kernels of a backward ---- */

static const BackwardArgument *launch_stride(const BackwardLaunch *launch, const char *of,
                                             int axis) {
    for (int i = 0; i < launch->argument_count; i++) {
        const BackwardArgument *argument = &launch->arguments[i];
        if (argument->input && strcmp(argument->input, of) == 0 && argument->axis == axis)
            return argument;
    }
    return NULL;
}

const char *expanded_input_stride(const Backward *backward, const char *of, int axis) {
    for (int i = 0; i < backward->launch_count; i++) {
        const BackwardArgument *stride = launch_stride(&backward->launches[i], of, axis);
        if (stride) return stride->of;
    }
    return NULL;
}

static bool holds(const Texts *list, const char *text) {
    for (LIST_EACH(int, i, *list))
        if (strcmp(list->items[i], text) == 0) return true;
    return false;
}

Texts expanded_input_reads(Arena *arena, const Backward *backward, const char *of) {
    Texts reads = {0};
    for (int i = 0; i < backward->launch_count; i++)
        for (int axis = 0; axis < TYPE_MAX_RANK; axis++) {
            const BackwardArgument *stride = launch_stride(&backward->launches[i], of, axis);
            for (int k = 0; stride && k < stride->read_count; k++)
                if (!holds(&reads, stride->read[k])) LIST_PUSH(arena, &reads, stride->read[k]);
        }
    return reads;
}

int expanded_input_rank(const Backward *backward, const char *of) {
    for (int i = 0; i < backward->launch_count; i++)
        for (int axis = 0; axis < TYPE_MAX_RANK; axis++) {
            const BackwardArgument *stride = launch_stride(&backward->launches[i], of, axis);
            if (stride) return stride->rank;
        }
    return 0;
}

int expanded_input_least_rank(Arena *arena, const Backward *backward, const char *of) {
    int least = 1;
    for (int axis = 0; axis < TYPE_MAX_RANK; axis++)
        if (expanded_input_stride(backward, of, axis)) least = axis + 1;
    Texts reads = expanded_input_reads(arena, backward, of);
    for (LIST_EACH(int, i, reads)) {
        int axis = (int)strtol(reads.items[i] + 1, NULL, 10);
        if (axis + 1 > least) least = axis + 1;
    }
    return least;
}

/// Whether each kernel takes `name` for the stride of the input along `axis`, and has it where it has the input.
static bool all_agree(const Backward *backward, const char *of, int axis, const char *name) {
    for (int i = 0; i < backward->launch_count; i++) {
        const BackwardLaunch *launch = &backward->launches[i];
        const BackwardArgument *stride = launch_stride(launch, of, axis);
        if (stride && strcmp(stride->of, name) != 0) return false;
        if (stride && stride->rank != expanded_input_rank(backward, of)) return false;
        if (!stride && launch_touches(launch, of)) return false;
        for (int k = 0; k < launch->argument_count; k++)
            if (is_of(&launch->arguments[k], ARGUMENT_SAME, name) &&
                &launch->arguments[k] != stride)
                return false;
    }
    return true;
}

static void forget(Backward *backward, const char *of) {
    for (int i = 0; i < backward->launch_count; i++)
        for (int k = 0; k < backward->launches[i].argument_count; k++) {
            BackwardArgument *argument = &backward->launches[i].arguments[k];
            if (argument->input && strcmp(argument->input, of) == 0) argument->input = NULL;
        }
}

static bool has_gradient(const Backward *backward, const char *of) {
    for (int i = 0; i < backward->input_count; i++)
        if (strcmp(backward->inputs[i], of) == 0) return true;
    return false;
}

/// Of what is only read, nobody needs a copy.
static void forget_constants(Backward *backward) {
    for (int i = 0; i < backward->launch_count; i++)
        for (int k = 0; k < backward->launches[i].argument_count; k++) {
            BackwardArgument *argument = &backward->launches[i].arguments[k];
            if (argument->input && !has_gradient(backward, argument->input)) argument->input = NULL;
        }
}

void expanded_inputs_settle(Backward *backward) {
    forget_constants(backward);
    for (int i = 0; i < backward->input_count; i++)
        for (int axis = 0; axis < TYPE_MAX_RANK; axis++) {
            const char *name = expanded_input_stride(backward, backward->inputs[i], axis);
            if (name && !all_agree(backward, backward->inputs[i], axis, name))
                forget(backward, backward->inputs[i]);
        }
}
