// The autograd.Function around one launch.
#ifndef TAD_AUTODIFF_FUNCTION_FUNCTION_TEXT_H
#define TAD_AUTODIFF_FUNCTION_FUNCTION_TEXT_H

#include "autodiff/plan/launch_plan.h"

/// The torch.autograd.Function class.
const char *autograd_class(Arena *arena, const LaunchPlan *plan);

#endif
