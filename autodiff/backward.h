// A forward kernel in; its backward as Triton source, launch plan and findings out. The front header of autodiff/.
#ifndef TAD_AUTODIFF_BACKWARD_H
#define TAD_AUTODIFF_BACKWARD_H

#include "autodiff/module/in_place.h"
#include "autodiff/module/module.h"
#include "autodiff/state/result.h"

/// Derives the backward of one kernel. Findings (what has no rule, atomic hot spots, tapes) go to `diagnostics`.
/// Never NULL. Everything lives in `arena`, which may be the snapshot's or outlive-compatible with it.
Backward *backward_derive(Arena *arena, const Snapshot *snapshot, const Kernel *kernel,
                          const BackwardOptions *options, Diagnostics *diagnostics);

/// Told of each derivation when it begins, on its thread; for tests.
typedef void BackwardWatcher(const Snapshot *snapshot, const Kernel *kernel);
void backward_watch(BackwardWatcher *told);

/// Whether the kernel is a forward to differentiate: launched (no helper), stores something.
bool kernel_is_forward(const Kernel *kernel);

#endif
