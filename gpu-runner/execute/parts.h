// Gradients that a launch leaves as the sums of a few programs each, one behind the other: their buffers, and what they come to.
#ifndef TAD_GPU_RUNNER_EXECUTE_PARTS_H
#define TAD_GPU_RUNNER_EXECUTE_PARTS_H

#include "gpu-runner/execute/execution.h"

/// Elements from one of a parameter's sums to the next.
int64_t parts_stride(const Problem *problem, int parameter);
/// The buffer of all sums for a gradient of the parameter, made where it is not there yet. `stored`: nobody sets it to 0.
MemoryBuffer *parts_buffer(const Problem *problem, Execution *run, const Actual *actual);
/// How many sums a launch leaves of each gradient that it has in parts.
int64_t launch_sums(const GradientLaunch *launch);
/// Adds up the sums that a launch has left into the gradients that they are of; what it stored behind them is noted.
void parts_add_up(const Problem *problem, Execution *run, const GradientLaunch *launch);

#endif
