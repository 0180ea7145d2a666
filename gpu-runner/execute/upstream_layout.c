// What launches say of upstream gradients' strides in, strides unlike the outputs' out.
#include "gpu-runner/execute/upstream_layout.h"

/// Elements that are laid out anew at most; larger tensors stay as they are.
#define MOST_ELEMENTS ((int64_t)1 << 20)

static bool launch_reads(const GradientLaunch *launch, int output) {
    for (int i = 0; i < launch->function->parameter_count; i++)
        if (launch->actuals[i].kind == ACTUAL_UPSTREAM && launch->actuals[i].parameter == output)
            return true;
    return false;
}

/// Bits of the axes along which the launch is given the strides of the output's upstream gradient; 0 where a number that it gets is
/// not the output's stride.
static unsigned axes_given(const PlanConfiguration *configuration, const GradientLaunch *launch,
                           int output) {
    const PlanArgument *tensor = &configuration->arguments[output];
    unsigned axes = 0;
    for (int i = 0; i < launch->function->parameter_count; i++) {
        const Actual *actual = &launch->actuals[i];
        if (!actual->is_upstream_stride || actual->upstream != output) continue;
        const PlanArgument *number = &configuration->arguments[actual->parameter];
        if (actual->axis < 0 || actual->axis >= tensor->rank || number->kind != ARGUMENT_INTEGER ||
            number->integer != tensor->strides[actual->axis])
            return 0;
        axes |= 1u << actual->axis;
    }
    return axes;
}

static bool is_dense(const PlanArgument *tensor) {
    int64_t dense = 1;
    for (int axis = tensor->rank - 1; axis >= 0; axis--) {
        if (tensor->dims[axis] < 1) return false;
        if (tensor->dims[axis] != 1 && tensor->strides[axis] != dense) return false;
        dense = size_product(dense, tensor->dims[axis]);
    }
    return tensor->rank > 0 && dense <= MOST_ELEMENTS;
}

static void lay_out(const PlanArgument *tensor, unsigned axes, UpstreamLayout *layout) {
    int64_t step = 2;
    layout->is_own = true;
    layout->extent = 1;
    layout->rank = tensor->rank;  // a run may forget the shape of a tensor
    for (int axis = 0; axis < tensor->rank; axis++) {
        layout->dims[axis] = tensor->dims[axis];
        layout->strides[axis] = layout->output[axis] = tensor->strides[axis];
        if (!(axes >> axis & 1)) step += (tensor->dims[axis] - 1) * tensor->strides[axis];
    }
    for (int axis = 0; axis < tensor->rank; axis++) {
        if (axes >> axis & 1) {
            layout->strides[axis] = step;
            step = size_product(step, tensor->dims[axis]) + 1;
        }
        layout->extent += size_product(tensor->dims[axis] - 1, layout->strides[axis]);
    }
}

const UpstreamLayout *upstream_layouts(Arena *arena, const PlanConfiguration *configuration,
                                       const GradientLaunch *launches, int count) {
    UpstreamLayout *layouts = ARENA_ARRAY(arena, UpstreamLayout, configuration->argument_count + 1);
    for (int output = 0; output < configuration->argument_count; output++) {
        const PlanArgument *tensor = &configuration->arguments[output];
        unsigned axes = 0;
        bool any = false, agree = true;
        for (int i = 0; i < count; i++) {
            if (!launch_reads(&launches[i], output)) continue;
            unsigned given = axes_given(configuration, &launches[i], output);
            agree = agree && (!any || given == axes);
            axes = given;
            any = true;
        }
        if (tensor->kind == ARGUMENT_POINTER && any && agree && axes && is_dense(tensor))
            lay_out(tensor, axes, &layouts[output]);
    }
    return layouts;
}

bool upstream_outgrows(Arena *arena, const UpstreamLayout *layout, const MemoryBuffer *output) {
    int64_t elements = 1;
    Offsets written = {0};
    if (!layout->is_own || !output) return false;
    for (int axis = 0; axis < layout->rank; axis++)
        elements = size_product(elements, layout->dims[axis]);
    memory_touched(arena, output, true, &written);
    return written.count && written.items[written.count - 1] >= elements;
}
