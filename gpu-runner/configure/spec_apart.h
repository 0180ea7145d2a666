// Constexprs that differ in a launch: numbers that differ in a proof, too.
#ifndef TAD_GPU_RUNNER_CONFIGURE_SPEC_APART_H
#define TAD_GPU_RUNNER_CONFIGURE_SPEC_APART_H

#include "analysis/host/launch.h"
#include "gpu-runner/configure/plan.h"

/// Blocks that the launch passes for different constexprs are noted in the policy, where made small they would be one number,
/// or in another order. Nothing is changed where they would not.
void spec_keep_apart(const Module *module, const LaunchSite *site, HostPolicy *policy);
/// Notes on each argument which block the launch passes as it is written, under a policy that `spec_keep_apart` may have seen.
void spec_note_written(const Module *module, const LaunchSite *site, const HostPolicy *policy,
                       PlanConfiguration *configuration);

#endif
