// The request `plan`: the arguments, buffer sizes and grid of one launch, for whoever launches the kernel for real.
#ifndef TAD_GPU_RUNNER_PROVE_LAUNCH_PLAN_H
#define TAD_GPU_RUNNER_PROVE_LAUNCH_PLAN_H

#include "gpu-runner/prove/request.h"

/// What a real launch needs: {"text", "source", "grid", "arguments": [{name, kind, ...}]} of the first configuration that runs.
Json *request_plan(Arena *arena, const Json *params, const atomic_bool *cancelled, Error *error);

#endif
