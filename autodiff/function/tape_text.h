// Scratch of an emitted kernel in, the lines of its launcher that allocate it out.
#ifndef TAD_AUTODIFF_FUNCTION_TAPE_TEXT_H
#define TAD_AUTODIFF_FUNCTION_TAPE_TEXT_H

#include "autodiff/plan/launch_plan.h"

/// tape_text.c: what an emitted kernel's scratch has to be, as lines of comment; empty where it has none.
const char *tape_comment(Arena *arena, const BackwardLaunch *launch);
/// Whether a launcher has to allocate scratch, or sums of programs: then it has to know how many there are.
bool launch_counts_programs(const BackwardLaunch *launch);
/// Statements that allocate it, indented by `indent` columns, and `*rest`: the keyword arguments of the launch, by name
/// `name=value` in `call` so far. `grid`: Python of the grid.
const char *tape_statements(Arena *arena, const LaunchPlan *plan, const char *grid,
                            const char *const *call, int count, int indent, const char ***rest,
                            int *rest_count);

/// Statements of the class's forward, in front of the launch, behind which the grid is a tuple of numbers; "" where nothing is stored.
const char *saved_rows_text(Arena *arena, const LaunchPlan *plan);

/// What an emitted kernel's buffers for gradients of scalars have to be, as lines of comment.
const char *scalar_comment(Arena *arena, const BackwardLaunch *launch);
/// Statements of a Function's forward that make numbers of scalars which may be tensors; empty where none has a gradient.
const char *scalar_forms_text(Arena *arena, const LaunchPlan *plan);
/// Python of how the gradient of a scalar has to look, in the Function's backward.
const char *scalar_form(Arena *arena, const LaunchPlan *plan, const BackwardLaunch *launch,
                        const BackwardArgument *argument);

#endif
