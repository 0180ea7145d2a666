// Scalars with a gradient in the emitted Python: tensors as a kernel's numbers, a buffer of the programs' sums, what becomes of it.
#ifndef TAD_AUTODIFF_FUNCTION_SCALAR_TEXT_H
#define TAD_AUTODIFF_FUNCTION_SCALAR_TEXT_H

#include "autodiff/plan/launch_plan.h"

/// scalar_text.c: what an emitted kernel's buffers for gradients of scalars have to be, as lines of comment.
const char *scalar_comment(Arena *arena, const BackwardLaunch *launch);
/// Statements of a Function's forward that make numbers of scalars which may be tensors; empty where none has a gradient.
const char *scalar_forms_text(Arena *arena, const LaunchPlan *plan);
/// Python of how the gradient of a scalar has to look, in the Function's backward.
const char *scalar_form(Arena *arena, const LaunchPlan *plan, const BackwardLaunch *launch,
                        const BackwardArgument *argument);

#endif
