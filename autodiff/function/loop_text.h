// How the Function's backward chooses the tile of a loop of products, or the parts of a block that it takes, with warps and stages.
#ifndef TAD_AUTODIFF_FUNCTION_LOOP_TEXT_H
#define TAD_AUTODIFF_FUNCTION_LOOP_TEXT_H

#include "autodiff/function/warps_text.h"

/// Whether the Function knows what the choice for such a launch hangs on; with the names that it gives it.
bool loop_tile_is_own(Arena *arena, const LaunchPlan *plan, const BackwardLaunch *launch,
                      TileNames *names);
/// The statements that choose, each line at `indent`.
const char *loop_tile_statement(Arena *arena, const LaunchPlan *plan, const BackwardLaunch *launch,
                                const TileNames *names, int indent);

#endif
