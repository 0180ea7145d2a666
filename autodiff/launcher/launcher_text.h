// The user's launcher with the generated Functions in the place of its launches.
#ifndef TAD_AUTODIFF_LAUNCHER_LAUNCHER_TEXT_H
#define TAD_AUTODIFF_LAUNCHER_LAUNCHER_TEXT_H

#include "autodiff/plan/launch_plan.h"

/// The text of a function or class with the launches in it replaced by the classes' apply or launch. NULL and `*why` where it
/// cannot be.
const char *launcher_text(Arena *arena, const Snapshot *snapshot, Range range,
                          const LaunchPlan *plans, int plan_count, const char **why);
/// Why a launch is not the one that the Function makes, under all wrappers of the kernel; NULL: it is.
const char *launch_wrapper_refusal(Arena *arena, const Module *module, const LaunchSite *site);
/// Why a launch without the kernel's tuner has no gradients; NULL: it is none.
const char *launch_bare_refusal(Arena *arena, const LaunchSite *site);
/// Whether which kernel a call launches is known only where it runs.
bool launch_is_choice(const Module *module, const LaunchSite *site);
/// What is written in the place of a launch: of the call, with a name that gets what it returns and that nothing reads. A
/// range without a source: the launch is part of an expression.
Range launch_place(const Module *module, const LaunchSite *site);
/// The next launch in a function from `at` to the end of `range`, or NULL.
const LaunchSite *launch_after(const Module *module, Range range, uint32_t at);
/// Whether no function and no class is around it: it stands at module level, or below an `if` or `try` there.
bool function_is_of_module(const FunctionDefinition *function);
/// Whether the launcher around a launch switches gradients off, itself or by its decorators. Those of a function of the module,
/// or of one that begins at `start`, are not written.
bool launch_is_without_gradients(const Module *module, const LaunchSite *site, uint32_t start);

/// The text of code that launches no kernel with a gradient, with what its launches write over counted behind them; NULL: there is nothing
/// to count.
const char *counted_text(Arena *arena, const Snapshot *snapshot, Range range);

#endif
