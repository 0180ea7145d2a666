// The tiles, grid, warps and stages that the launches of a written Function choose when they run, chosen for a GPU.
#ifndef TAD_GPU_RUNNER_TRITON_OWN_TILES_H
#define TAD_GPU_RUNNER_TRITON_OWN_TILES_H

#include "analysis/choices/tiles.h"
#include "base/json.h"

/// The answer of `plan`, where launches that have "own" get the sizes of their arguments, "grid", "options" and, for people,
/// "tiles": "BLOCK_M=128, BLOCK_N=256" in its place.
const Json *own_tiles_chosen(Arena *arena, const Json *plan, TileCard card);

#endif
