// Upstream gradients that autograd has none of: outputs that nobody used.
#ifndef TAD_AUTODIFF_PLAN_ABSENT_H
#define TAD_AUTODIFF_PLAN_ABSENT_H

#include "autodiff/state/result.h"

/// Sets `is_optional` of upstream gradients that kernels may get None for: each kernel that reads one reads another as well, so
/// that something is left to do, and no gradient starts as a copy of an upstream one.
void absent_choose(Backward *backward);

/// Puts branches around what is for such an upstream gradient alone: its pointer may be None, and the kernel then computes what it would with
/// zeros there, without the work. `backward`: its parameters in the order of the arguments. Takes `is_optional` back where that fails.
void absent_guard(Arena *arena, Function *backward, BackwardLaunch *launch);

/// Takes `is_optional` back where another kernel needs a tensor there, and sets that of the whole's.
void absent_settle(Backward *backward);

/// Whether kernels take None for one of the upstream gradients.
bool upstreams_may_be_absent(const Backward *backward);

/// The upstream gradient of an output, that kernels take None for or do not; or NULL.
const BackwardArgument *upstream_of(const Backward *backward, const char *output);

#endif
