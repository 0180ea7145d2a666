// What an autograd.Function does about views that the kernel reads around.
#ifndef TAD_AUTODIFF_FUNCTION_PART_TEXT_H
#define TAD_AUTODIFF_FUNCTION_PART_TEXT_H

#include "autodiff/plan/launch_plan.h"

/// A statement of the Function's `launch` that says where the views lie in their tensors.
const char *part_launch_text(Arena *arena, const LaunchPlan *plan, const char *parts);
/// Statements of its forward that make the views again of the tensors which it gets in their place.
const char *part_forward_text(Arena *arena, const LaunchPlan *plan, const char *parts);

#endif
