// The gradient check at sizes that only a GPU has time for: forward, backward and the sums over them stay on it.
#ifndef TAD_GPU_RUNNER_EXECUTE_LARGE_H
#define TAD_GPU_RUNNER_EXECUTE_LARGE_H

#include "gpu-runner/execute/execution.h"

typedef enum LargeVerdict {
    LARGE_PROVED,
    LARGE_FAILED,
    LARGE_UNPROVED,
    LARGE_INVALID
} LargeVerdict;

typedef struct LargeResult {
    LargeVerdict verdict;
    const char *reason;   // of all but LARGE_PROVED
    double *errors;       // per input along a direction of it alone; negative: none was tried
    double together;      // along all inputs at once; negative as above
    double error, slope;  // the largest error, and derivative
    double dual;          // the largest error against dual numbers alone
    bool has_kink;        // central differences did not settle, and dual numbers decided
} LargeResult;

/// Whether a configuration has so many elements that the interpreter would not get through, or takes long.
bool large_is(const PlanConfiguration *configuration);

/// Checks one configuration on the GPU of this process, by dual numbers and central differences. Every access is checked, and who uses which element; what
/// is read before anything is written, and what masked-off loads leave undefined, is not. False where the GPU cannot run it, with the
/// reason in `problem->cuda`. Results live in `arena`.
bool large_check(Arena *arena, const Problem *problem, LargeResult *result);

#endif
