// Which sizes the blocks of tensor descriptors cut.
#ifndef TAD_GPU_RUNNER_CONFIGURE_DESCRIPTOR_SIZES_H
#define TAD_GPU_RUNNER_CONFIGURE_DESCRIPTOR_SIZES_H

#include "gpu-runner/configure/facts.h"

/// A descriptor that a launch passes has no mask that a size stands in. What the kernel divides by the length of its blocks, or loops
/// up to in steps of it, is the size of the axis: `facts`, one entry a parameter, say so of both.
void descriptor_sizes_find(const Function *function, ParameterFacts *facts);

#endif
