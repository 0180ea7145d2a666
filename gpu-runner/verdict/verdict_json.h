// Inside gpu-runner/verdict/: the result of a run.
#ifndef TAD_GPU_RUNNER_VERDICT_VERDICT_JSON_H
#define TAD_GPU_RUNNER_VERDICT_VERDICT_JSON_H

#include "gpu-runner/verdict/gradcheck_run.h"

/// The response to `gradcheck` (runner.md, section 3): status, reason, errors by input, what was covered, findings. In the run's arena.
Json *verdict_json(Gradcheck *check);

#endif
