// Which launches of a backward can be left out, and when: those of which autograd wants no gradient that they write.
#ifndef TAD_AUTODIFF_PLAN_NEEDS_H
#define TAD_AUTODIFF_PLAN_NEEDS_H

#include "autodiff/plan/launch_plan.h"

/// Arguments of the class in front of the kernel's own.
int needs_before(const LaunchPlan *plan);
/// The same as `need_text` of what takes `before` arguments in front of the kernel's, and calls its context `ctx`.
const char *need_text_at(Arena *arena, const LaunchPlan *plan, const char *ctx, int before,
                         const char *parameter);
/// Python of the class's backward: whether autograd asks for the gradient of `parameter`, which launches pass.
const char *need_text(Arena *arena, const LaunchPlan *plan, const char *parameter);
/// Python that holds where autograd asks for a gradient that launch `number` writes, or that one behind it writes which
/// reads what this one leaves; NULL: it always runs.
const char *launch_need_text(Arena *arena, const LaunchPlan *plan, int number);
/// Python that holds where autograd asks for the gradient, which the kernels take None for else; NULL: they take none.
const char *gradient_need_text(Arena *arena, const LaunchPlan *plan,
                               const BackwardArgument *gradient);
/// The gradient, of another input or upstream, that does for this one as well where the tensors are laid out alike; NULL: none.
const BackwardArgument *gradient_twin(Arena *arena, const LaunchPlan *plan,
                                      const BackwardArgument *gradient);
/// Whether the gradient has memory only where a launch runs that may be left out.
bool gradient_is_optional(Arena *arena, const LaunchPlan *plan, const BackwardArgument *gradient);

#endif
