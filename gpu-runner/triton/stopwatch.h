// Times on the GPU, by its events: many runs, each behind a flush of the cache, their median and spread.
#ifndef TAD_GPU_RUNNER_TRITON_STOPWATCH_H
#define TAD_GPU_RUNNER_TRITON_STOPWATCH_H

#include "gpu-runner/interp/budget.h"
#include "gpu-runner/triton/kernel.h"

typedef struct MeasuredRuns {
    double median_ms, low_ms,
        high_ms;  // the middle one, and those that a tenth of the runs is below and above
    int runs;
} MeasuredRuns;

/// Runs `kernels` one after the other, again and again. `meters`: clocks and power under this load, or NULL. A sentence where a run
/// fails or the budget ends.
Error stopwatch_run(Arena *arena, GpuBuffers *buffers, LoadedKernel *kernels, int count,
                    Budget *budget, MeasuredRuns *measured, Json *meters);

/// A rate of this GPU with its driver.
typedef struct RateAsked {
    Arena *arena;
    GpuBuffers *buffers;
    const char *what;                                  // "a copy"
    double (*measure)(const struct RateAsked *asked);  // 0: it cannot be had
    void *context;
} RateAsked;

/// Measured once in thirty days, and kept in the user's cache; 0: not known. `*known`: of this process, at first below 0.
double stopwatch_rate(const RateAsked *asked, double *known);
/// Bytes a second that a copy reads and writes together.
double stopwatch_copy_rate(Arena *arena, GpuBuffers *buffers);

#endif
