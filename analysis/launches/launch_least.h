// From launches to the smallest value that a constexpr can have (a tile of `HQ // H` rows may have one, one of 64 has 64),
// and to the axes of their grids.
#ifndef TAD_ANALYSIS_LAUNCHES_LAUNCH_LEAST_H
#define TAD_ANALYSIS_LAUNCHES_LAUNCH_LEAST_H

#include "analysis/host/launch.h"

/// The smallest value that the launches of a kernel can pass for an integer parameter, as far as it follows from sizes of
/// tensors and constants; LAUNCH_LEAST_UNKNOWN where nobody says, as for what a launcher's caller picks.
int64_t launches_least(Arena *arena, const Function *function, int parameter);
/// What the launches of a kernel and the `# tad:` lines above it say of the axes.
void launches_axes(Arena *arena, const Function *function, GridAxis axes[PROGRAM_AXES]);

#endif
