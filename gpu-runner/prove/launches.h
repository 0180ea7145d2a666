// The launches of a backward in a request, made ready to run in one configuration.
#ifndef TAD_GPU_RUNNER_PROVE_LAUNCHES_H
#define TAD_GPU_RUNNER_PROVE_LAUNCHES_H

#include "gpu-runner/configure/problem.h"
#include "gpu-runner/prove/request.h"

/// What all launches of a request are read with.
typedef struct LaunchReader {
    Arena *arena;
    Sources *sources;
    const FunctionDefinition *forward;
    const Module *backward;
    int absent;  // an output whose upstream gradient nobody has, where kernels take None for it; -1: all are there
    int asked;  // of gradients that may be left out the one that is asked for, a parameter of the forward; -1: all are
    Map *
        known;  // what was read before of launches that are read several times, in configurations that stay as they are; or NULL
} LaunchReader;

/// {"kernel", "arguments": {name: {"same" | "upstream" | "gradient" | "running" | "kept" | "before": PARAMETER} (a "gradient" with the
/// "stored" ranges that nobody sets to 0: stored.h, or that is "optional", as an "upstream" may be: the kernel takes None for it; a "same" that is the stride of an output along "axis", and addresses that
/// output's upstream gradient alone, with "upstream_of": PARAMETER) or {"scratch": NAME,
/// "elements"} or {"steps"} or {"slices"} (with the programs that are "shared_by" sums, as "grid.0 * grid.1", and what the launcher says of their number: "most", "each", "busy") or {"part_stride": PARAMETER} (of a "gradient" with "parts") or {"stages"} or {"run_tile", "axis"} or {"fill": PARAMETER} (a flag under which the kernel stores all that is "filled" of that gradient) or {"programs": AXIS} or {"value"}}}. False and `*error` where it makes no sense or does not lower.
bool launch_read(const LaunchReader *reader, const PlanConfiguration *configuration,
                 const Json *json, GradientLaunch *launch, Error *error);

/// The parameters of the forward whose gradients a request's launches may leave out, in `parameters`; how many.
int launches_optional(const LaunchReader *reader, const PlanConfiguration *configuration,
                      const Json *launches, int *parameters);

/// The outputs whose upstream gradients may be None, in the same way.
int launches_absent(const LaunchReader *reader, const PlanConfiguration *configuration,
                    const Json *launches, int *parameters);

/// "tiles" of a launch: {PARAMETER: {"same": PARAMETER of the forward, "sizes": [...], "extent": elements in Python, "axis": of the grid, that
/// numbers its blocks, or null, "divides": parameters of the forward that all its sizes divide}}, as many sizes for each. `problem->tiled` gets the launches with some of these, whose `turn` it is: none
/// where the grid of the configuration leaves elements out, for then the Function launches the forward's. "sliced" of a launch, axes of the
/// grid: these have only as many programs along them as share the sums.
void tiles_read(const LaunchReader *reader, const PlanConfiguration *configuration,
                const Json *launches, int turn, Problem *problem, Error *error);

/// Whether the launcher lets a kernel store the zeros beside a gradient: they and what it stores anyway are all of it. `fill`: the
/// argument as the request has it.
bool launch_fills(Arena *arena, const FunctionDefinition *forward,
                  const PlanConfiguration *configuration, const Json *fill,
                  const StoredRanges **stored);

#endif
