// Which elements of a gradient's buffer an emitted kernel certainly stores, as Python over what the launch passes.
#ifndef TAD_AUTODIFF_SCHEDULE_COVERAGE_H
#define TAD_AUTODIFF_SCHEDULE_COVERAGE_H

#include "autodiff/state/result.h"

/// Fills `stored` of the launch's ARGUMENT_GRADIENTs, where it can be told; `launch` is in the order of the parameters of `backward`.
void coverage_describe(Arena *arena, Function *backward, BackwardLaunch *launch);
/// Fills `result->stored`: what a forward stores for certain in its first `count` parameters.
void coverage_outputs(Arena *arena, Function *forward, int count, Backward *result);
/// A gradient that several launches take is described by none of them.
void coverage_settle(Backward *result);

#endif
