// Kernels that store nothing with a derivative: whole numbers and constants. Their launches may stay as they are in a launcher
// that is differentiated, if no tensor with a gradient is written to.
#ifndef TAD_AUTODIFF_PLAN_CONSTANTS_H
#define TAD_AUTODIFF_PLAN_CONSTANTS_H

#include "analysis/snapshot.h"

/// Whether all that a launch stores is whole numbers and constants, and no tensor with a gradient takes them.
bool launch_stores_constants(Arena *arena, const Snapshot *snapshot, const LaunchSite *site);
/// Marks the parameters that a launch writes to, per parameter of its kernel, where that memory may have held something before.
void launch_writes_over(Arena *arena, const Snapshot *snapshot, const LaunchSite *site,
                        bool *written);
/// Whether a kernel fills memory: what it stores depends on no float of a tensor, be it a number that a launcher reads off one. No
/// launch of its file writes to floats that somebody else may have made.
bool kernel_only_fills(Arena *arena, const Kernel *kernel);

#endif
