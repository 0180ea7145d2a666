// The launches of a backward with tiles of their own, as its Function chooses them.
#ifndef TAD_GPU_RUNNER_PROVE_TILES_H
#define TAD_GPU_RUNNER_PROVE_TILES_H

#include "gpu-runner/prove/launches.h"

/// "tiles" of a launch: {PARAMETER: {"same": PARAMETER of the forward, "sizes": [...], "extent": elements in Python, "axis": of the grid, that
/// numbers its blocks, or null}}, as many sizes for each. `problem->tiled` gets the launches with some of these, whose `turn` it is: none
/// where the grid of the configuration leaves elements out, for then the Function launches the forward's.
void tiles_read(const LaunchReader *reader, const PlanConfiguration *configuration,
                const Json *launches, int turn, Problem *problem, Error *error);

#endif
