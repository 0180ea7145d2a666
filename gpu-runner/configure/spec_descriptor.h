// Tensor descriptors of a configuration: their blocks by the kernel's constexprs, and a shape where nobody gave one.
#ifndef TAD_GPU_RUNNER_CONFIGURE_SPEC_DESCRIPTOR_H
#define TAD_GPU_RUNNER_CONFIGURE_SPEC_DESCRIPTOR_H

#include "gpu-runner/configure/facts.h"
#include "gpu-runner/configure/spec.h"

/// spec_descriptor.c: the blocks of descriptors, and shapes for those that have none. The rest is chosen. `facts` has an entry for
/// each parameter.
void spec_describe(const Function *symbolic, const ParameterFacts *facts,
                   PlanConfiguration *configuration);

#endif
