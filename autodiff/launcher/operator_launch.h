// Inside autodiff/: what the launches of a kernel make of its operator: grid, options, outputs.
#ifndef TAD_AUTODIFF_LAUNCHER_OPERATOR_LAUNCH_H
#define TAD_AUTODIFF_LAUNCHER_OPERATOR_LAUNCH_H

#include "autodiff/launcher/operator_text.h"

/// Enters one launch into its kernel's plan, or refuses the plan.
void operator_plan_launch(Arena *arena, const Module *module, const LaunchSite *site,
                          OperatorPlan *plan, bool is_first);
/// Whether the grid is computed from this parameter of the kernel.
bool operator_grid_reads(const OperatorPlan *plan, const char *name);

/// The launcher's text with its launches replaced by operators. NULL and `*why` where it cannot be.
const char *operator_launcher_text(Arena *arena, const Module *module, Range body,
                                   const OperatorPlan *plans, int plan_count, const char **why);

#endif
