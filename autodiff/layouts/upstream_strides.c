// Upstream gradients whose own strides a kernel may be given: those of the output address nothing else.
#include "autodiff/layouts/upstream_strides.h"

#include <string.h>

#include "autodiff/layouts/tensor_strides.h"
#include "autodiff/plan/launch_plan.h"

void upstream_strides_describe(Arena *arena, const Kernel *kernel, const Function *backward,
                               BackwardLaunch *launch) {
    for (int i = 0; i < launch->argument_count; i++) {
        if (launch->arguments[i].use != ARGUMENT_UPSTREAM) continue;
        TensorStrides layout = {.arena = arena,
                                .kernel = kernel,
                                .backward = backward,
                                .launch = launch,
                                .addressed = {backward->parameters[i].value}};
        layout.tensor = parameter_find(kernel->definition, str_from(launch->arguments[i].of));
        if (!tensor_strides_find(&layout)) continue;
        for (int axis = 0; axis < layout.rank; axis++) {
            if (layout.strides[axis] == NO_ARGUMENT) continue;
            launch->arguments[layout.strides[axis]].upstream = launch->arguments[i].of;
            launch->arguments[layout.strides[axis]].axis = axis;
        }
    }
}

/* ---- all kernels of a backward ---- */

static BackwardArgument *launch_stride(const BackwardLaunch *launch, const char *of, int axis) {
    for (int i = 0; i < launch->argument_count; i++) {
        BackwardArgument *argument = &launch->arguments[i];
        if (argument->upstream && strcmp(argument->upstream, of) == 0 && argument->axis == axis)
            return argument;
    }
    return NULL;
}

static bool launch_reads(const BackwardLaunch *launch, const char *of) {
    for (int i = 0; i < launch->argument_count; i++)
        if (launch->arguments[i].use == ARGUMENT_UPSTREAM &&
            strcmp(launch->arguments[i].of, of) == 0)
            return true;
    return false;
}

/// Whether all kernels that read the upstream gradient of the output `of` are given its stride along `axis`.
static bool all_have_stride(const Backward *backward, const char *of, int axis) {
    for (int i = 0; i < backward->launch_count; i++)
        if (launch_reads(&backward->launches[i], of) &&
            !launch_stride(&backward->launches[i], of, axis))
            return false;
    return true;
}

void upstream_strides_settle(Backward *backward) {
    for (int i = 0; i < backward->launch_count; i++)
        for (int k = 0; k < backward->launches[i].argument_count; k++) {
            BackwardArgument *argument = &backward->launches[i].arguments[k];
            const char *of = argument->upstream;
            if (!of || all_have_stride(backward, of, argument->axis)) continue;
            int axis = argument->axis;
            for (int j = 0; j < backward->launch_count; j++) {
                BackwardArgument *own = launch_stride(&backward->launches[j], of, axis);
                if (own) own->upstream = NULL;
            }
        }
}

bool upstream_has_stride(const Backward *backward, const char *of, int axis) {
    for (int i = 0; i < backward->launch_count; i++)
        if (launch_stride(&backward->launches[i], of, axis)) return true;
    return false;
}

bool upstream_has_strides(const Backward *backward, const char *of) {
    for (int axis = 0; axis < TYPE_MAX_RANK; axis++)
        if (upstream_has_stride(backward, of, axis)) return true;
    return false;
}
