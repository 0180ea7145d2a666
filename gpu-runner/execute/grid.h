// How many programs a kernel wants, and how far the outermost ones reach.
#ifndef TAD_GPU_RUNNER_EXECUTE_GRID_H
#define TAD_GPU_RUNNER_EXECUTE_GRID_H

#include "gpu-runner/execute/execution.h"

/// Chooses the grid of a problem's configuration by running programs along each axis until they add nothing.
/// A sentence, in `arena`, where not even the first program runs.
Error grid_find(Arena *arena, const Problem *problem, PlanConfiguration *configuration);

enum { GRID_CORNERS = 8 };
/// Runs only the programs at the corners of the grid, GRID_CORNERS of them: enough to see how far each buffer reaches.
Execution grid_run_corners(Executor *executor);

#endif
