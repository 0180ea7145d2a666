// What an autograd.Function does about views that the kernel reads around, or may.
#ifndef TAD_AUTODIFF_FUNCTION_PART_TEXT_H
#define TAD_AUTODIFF_FUNCTION_PART_TEXT_H

#include "autodiff/plan/launch_plan.h"

/// A statement of the Function's `launch` that says where the views lie in their tensors.
const char *part_launch_text(Arena *arena, const LaunchPlan *plan, const char *parts);
/// Statements of its forward that make the views again of the tensors which it gets in their place.
const char *part_forward_text(Arena *arena, const LaunchPlan *plan, const char *parts);
/// Whether a parameter is such a view, or may be one.
bool indexed_is(const LaunchPlan *plan, const char *name);
/// A statement of the forward that keeps how much memory lies around such tensors, as `ctx.rooms`; empty where it does not matter.
const char *indexed_rooms_text(Arena *arena, const LaunchPlan *plan, const char *ctx, int indent);
/// Statements behind those that unpack what the forward has saved.
const char *indexed_unpack_text(Arena *arena, const LaunchPlan *plan, const char *ctx, int indent);
/// `text`, the upstream gradient of an output in its memory layout, with what cannot be read around it. `index`: among the Function's outputs.
/// `is_running`: the launches turn it into the gradient of what was there before.
const char *indexed_around_text(Arena *arena, const LaunchPlan *plan, const char *output, int index,
                                const char *text, bool is_running);
/// Statements behind the launches: they raise an error where something outside of a view has a gradient.
const char *indexed_check_text(Arena *arena, const LaunchPlan *plan);

#endif
