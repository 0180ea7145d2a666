// The launches of a backward in a request, made ready to run in one configuration.
#ifndef TAD_RUNNER_LAUNCHES_H
#define TAD_RUNNER_LAUNCHES_H

#include "gpu-runner/problem.h"
#include "gpu-runner/request.h"

/// What all launches of a request are read with.
typedef struct LaunchReader {
    Arena *arena;
    Sources *sources;
    const FunctionDefinition *forward;
    const Module *backward;
} LaunchReader;

/// {"kernel", "arguments": {name: {"same" | "upstream" | "gradient" | "running" | "kept" | "before": PARAMETER} or {"scratch": NAME,
/// "elements"} or {"steps"} or {"slices"} or {"programs": AXIS} or {"value"}}}. False and `*error` where it makes no sense or does not lower.
bool launch_read(const LaunchReader *reader, const Configuration *configuration, const Json *json,
                 GradientLaunch *launch, Error *error);

#endif
