// One launch with numbers in it, and its readable text.
#ifndef TAD_ANALYSIS_HOST_LAUNCH_CONCRETE_H
#define TAD_ANALYSIS_HOST_LAUNCH_CONCRETE_H

#include "analysis/host/launch.h"

/// The numbers of one evaluation. Other sizes come from another host_launch with another seed or variant.
ConcreteLaunch *host_concretize(Arena *arena, const HostLaunch *launch);
/// Python text of a value: `cdiv(x.shape[0], 16)`.
const char *host_print(Arena *arena, const HostValue *value);
/// One line per kernel parameter, `name = text  # value`, then the grid.
const char *host_launch_print(Arena *arena, const HostLaunch *launch);

#endif
