// Layouts in which a proof passes upstream gradients.
#ifndef TAD_GPU_RUNNER_EXECUTE_UPSTREAM_LAYOUT_H
#define TAD_GPU_RUNNER_EXECUTE_UPSTREAM_LAYOUT_H

#include "gpu-runner/configure/problem.h"
#include "gpu-runner/interp/memory.h"

/// One for each parameter of the forward. Where all launches that read the upstream gradient of a dense output are given its
/// strides along the same axes, these are other strides: rising where those of the output fall, with gaps.
const UpstreamLayout *upstream_layouts(Arena *arena, const PlanConfiguration *configuration,
                                       const GradientLaunch *launches, int count);
/// Whether a forward stored behind the end of an output whose upstream gradient has such a layout: the shape is made up, and has no place
/// for that. Scratch memory is taken from `arena`.
bool upstream_outgrows(Arena *arena, const UpstreamLayout *layout, const MemoryBuffer *output);

#endif
