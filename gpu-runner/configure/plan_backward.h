// The launches of a backward with numbers in the place of expressions, for whoever launches them for real.
#ifndef TAD_GPU_RUNNER_CONFIGURE_PLAN_BACKWARD_H
#define TAD_GPU_RUNNER_CONFIGURE_PLAN_BACKWARD_H

#include "base/json.h"
#include "gpu-runner/configure/plan.h"

/// What a forward was planned with.
typedef struct PlannedForward {
    const PlanConfiguration *configuration;
    const Json *arguments;  // of the plan, one per parameter
} PlannedForward;

/// [{"kernel", "arguments", "options"}] of a request's `launches`: arguments as in the plan, each buffer with the "key" by which launches share it.
/// A launch that chooses its tiles by the GPU has what it chooses them by ("own"), and the forward's sizes until then.
/// Parameters of the derived kernel that have a default of its own are left out. Without "options" they are the forward's. NULL and `*error` where one is not understood.
Json *plan_backward(Arena *arena, const PlannedForward *forward, const Json *launches,
                    Error *error);

/// The same of a request's "whole_rows", {"block": PARAMETER of the forward, "length", "tensors", "sums", "chosen", "launches"}, where the
/// written Function launches that in place of the others: in a block that holds a row. NULL without `*error` where it does not.
Json *plan_whole_rows(Arena *arena, const PlannedForward *forward, const Json *rows, Error *error);

#endif
