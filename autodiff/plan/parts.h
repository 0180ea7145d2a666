// Which tensors of a launch are views that the kernel reads around.
#ifndef TAD_AUTODIFF_PLAN_PARTS_H
#define TAD_AUTODIFF_PLAN_PARTS_H

#include "autodiff/plan/launch_plan.h"

/// Fills `is_part`, by what the launchers show, and `is_indexed`, by what the kernel does.
void parts_plan(Arena *arena, LaunchPlan *plan);
bool plan_has_parts(const LaunchPlan *plan);

#endif
