// Axes of the grid along which a backward is right for one program, in words and as a check of the launch.
#ifndef TAD_AUTODIFF_FUNCTION_GRID_TEXT_H
#define TAD_AUTODIFF_FUNCTION_GRID_TEXT_H

#include "autodiff/plan/launch_plan.h"

/// grid_text.c: the axes of the grid along which the forward must have one program, as a line of comment; empty where there
/// are none, or where the Function that goes with the kernel checks it.
const char *grid_comment(Arena *arena, const Backward *backward, WrapperKind wrapper);
/// A statement of the Function's forward that refuses other grids; `given`: the launch's arguments by name. Empty: none is wrong.
const char *grid_check_text(Arena *arena, const LaunchPlan *plan, const char *const *given,
                            int count);
/// The same for any forward that calls its grid `grid`, and the arguments `given`.
const char *grid_check_of(Arena *arena, const LaunchPlan *plan, const char *grid, const char *given,
                          int indent);
/// Statements of the Function's forward that evaluate its grid: the launch's arguments by name become `given`.
const char *grid_fixed_text(Arena *arena, const LaunchPlan *plan, const char *given,
                            const char *const *call, int count);

#endif
