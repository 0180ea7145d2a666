// Tensors that all launches of a kernel pass for two parameters.
#ifndef TAD_ANALYSIS_LAUNCHES_LAUNCH_JOINED_H
#define TAD_ANALYSIS_LAUNCHES_LAUNCH_JOINED_H

#include "analysis/host/launch.h"

/// The name that an argument of a launch starts with, as `y` of `y.view(-1, n)[0]`; empty for other expressions.
Str launch_argument_root(const Module *module, const LaunchSite *site, int parameter);
/// Whether every launch of the kernel in its module passes pointers to one element of one tensor for the two. False where some
/// launch is not understood, and where there is none.
bool launches_pass_one(const FunctionDefinition *kernel, const Function *function, int first,
                       int second);
/// The same of one launch.
bool launch_passes_one(const LaunchSite *site, const Function *function, int first, int second);
/// Whether the launch, on each way through its launcher, passes views of one tensor for the two that have elements in common.
/// False where it is not understood.
bool launch_shares_elements(const LaunchSite *site, const Function *function, int first,
                            int second);
/// Lets the function use parameter `joined[q]` where it uses q; -1 where that stays. `joined` may be NULL.
void function_join_parameters(Function *function, const int *joined);

#endif
