// Layouts in which a proof passes upstream gradients.
#ifndef TAD_GPU_RUNNER_EXECUTE_UPSTREAM_LAYOUT_H
#define TAD_GPU_RUNNER_EXECUTE_UPSTREAM_LAYOUT_H

#include "gpu-runner/configure/problem.h"

/// One for each parameter of the forward. Where all launches that read the upstream gradient of a dense output are given its
/// strides along the same axes, these are other strides: rising where those of the output fall, with gaps.
const UpstreamLayout *upstream_layouts(Arena *arena, const PlanConfiguration *configuration,
                                       const GradientLaunch *launches, int count);

#endif
