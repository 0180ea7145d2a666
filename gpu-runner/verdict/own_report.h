// Which of the proved configurations run again in their own types, and what the result says of that.
#ifndef TAD_GPU_RUNNER_VERDICT_OWN_REPORT_H
#define TAD_GPU_RUNNER_VERDICT_OWN_REPORT_H

#include "gpu-runner/prove/problem_read.h"

typedef struct ProvedRun {
    PlanConfiguration configuration;
    int input_count;
    int64_t forward_steps, backward_steps;  // of one run; the backward's with its forward
} ProvedRun;

typedef LIST(ProvedRun) ProvedRuns;

/// {"words", "runs": [{"types", "times", "input", "error", "steps", "reason"}], "finding": {"kernel", "line", "input",
/// "message"} or null}. The clock of the reader's budget holds, its steps are its own. What can run on the GPU does so where `cuda` is
/// not NULL. Allocated in the reader's arena.
Json *own_types_report(const ProblemReader *reader, const ProvedRuns *runs, CudaUse *cuda);

#endif
