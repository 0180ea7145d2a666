// Which kernels a file launches, which meta-parameters are tuned, which jit functions are helpers of others.
#ifndef TAD_ANALYSIS_MODULE_MODULE_LAUNCH_H
#define TAD_ANALYSIS_MODULE_MODULE_LAUNCH_H

#include "analysis/module/module.h"
#include "analysis/module/module_scope.h"

/// The grid as an expression of its own: `kernel[m, n]` and `kernel[m,]` have tuples.
const char *launch_grid_text(Arena *arena, const Module *module, const LaunchSite *site);
/// The next of the kernels that one call may launch; NULL: there are no more.
const LaunchSite *launch_beside(const Module *module, const LaunchSite *site);
/// Whether the call may launch other kernels, too: what holds of this one alone is nothing to say of the call.
bool launch_has_several(const Module *module, const LaunchSite *site);
/// Fills launches, tuned names and is_helper, once all names are known. `changes` may be NULL.
void module_find_launches(Module *module);
void module_find_tuned(Module *module, const ModuleChanges *changes);

#endif
