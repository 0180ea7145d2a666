// The number of warps that the Function launches a backward kernel with, where the forward's launch says nothing, and of iterations
// whose loads are in flight.
#ifndef TAD_AUTODIFF_FUNCTION_WARPS_TEXT_H
#define TAD_AUTODIFF_FUNCTION_WARPS_TEXT_H

#include "autodiff/plan/launch_plan.h"

/// `num_warps=...`, or NULL: as many as Triton takes unasked.
const char *warps_text(Arena *arena, const LaunchPlan *plan, const BackwardLaunch *launch);
/// The argument `name` of a launch whose arguments stand at `indent`: the number of stages. NULL: the parameter's default.
const char *stages_text(Arena *arena, const LaunchPlan *plan, const BackwardLaunch *launch,
                        const char *name, int indent);

/// The argument `name`: how many programs share a sum at most, where each has the four warps that Triton takes unasked. NULL: the
/// parameter's default, which is for eight warps, or for products. On an H200 the sums of a bias took 0.53 ms in 512 parts of four warps and 0.44 ms in 1024.
const char *slices_text(Arena *arena, const LaunchPlan *plan, const BackwardLaunch *launch,
                        const char *name);

#endif
