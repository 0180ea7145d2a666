// A forward that was rewritten, held against the one before it: both have to leave the same numbers in memory.
#ifndef TAD_GPU_RUNNER_EXECUTE_SAME_VALUES_H
#define TAD_GPU_RUNNER_EXECUTE_SAME_VALUES_H

#include "gpu-runner/execute/execution.h"

/// Runs `problem->forward` and `problem->before` on the same tensors, as they are and moved along a direction. A sentence on the first
/// element that differs, or on what keeps the two from being compared; NULL: all elements that either stores are the same,
/// but for rounding.
const char *same_values_fault(Arena *arena, const Problem *problem);

#endif
