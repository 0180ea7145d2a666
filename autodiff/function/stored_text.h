// What the backward's launches store for certain, as the Function tells it to the helper that allocates a gradient.
#ifndef TAD_AUTODIFF_FUNCTION_STORED_TEXT_H
#define TAD_AUTODIFF_FUNCTION_STORED_TEXT_H

#include "autodiff/plan/launch_plan.h"

/// `stored=[(step, length), ...]`; NULL where the launcher does not know what it is made of.
const char *stored_text(Arena *arena, const LaunchPlan *plan, const BackwardArgument *gradient);
/// Statements that these texts need in front of them, or "".
const char *stored_programs_text(Arena *arena, const LaunchPlan *plan);

/// Statements that check what the gradients assume of offsets, as the backward launches; "" where they assume nothing.
/// `grid`: a tuple, in Python.
/// Lines that raise where steps of a kernel without a launch in its file lie on each other; `grid` in numbers.
const char *steps_check_text(Arena *arena, const LaunchPlan *plan, const char *grid, int indent);
const char *offsets_check_text(Arena *arena, const LaunchPlan *plan, const char *grid, int indent);

/// What a launch stores in an output, `[(step, length), ...]` in what the class's `launch` knows; NULL where that is not known.
const char *stored_output_text(Arena *arena, const LaunchPlan *plan, int parameter);

#endif
