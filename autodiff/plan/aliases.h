// Tensors of one launch that may share memory.
#ifndef TAD_AUTODIFF_PLAN_ALIASES_H
#define TAD_AUTODIFF_PLAN_ALIASES_H

#include "autodiff/plan/launch_plan.h"

/// Fills `is_checked` and `stored_if`, by what the launchers show.
void aliases_plan(Arena *arena, const Module *module, LaunchPlan *plan);
/// Why no gradient of the launch is right: it passes two names of elements that the kernel writes to. Else NULL.
const char *alias_refusal(Arena *arena, const Module *module, const LaunchPlan *plan,
                          const LaunchSite *site);
/// Whether the derivation took the parameter for another one, of the same tensor.
bool plan_is_joined(const LaunchPlan *plan, int parameter);
/// The Function's name for an input and output where flags let the launch only read it; NULL: these do not decide that.
const char *plan_only_read(Arena *arena, const LaunchPlan *plan, int parameter);
/// Whether a launch passes a tensor for the parameter, and the kernel stores to it.
bool plan_is_written(const LaunchPlan *plan, int parameter);

#endif
