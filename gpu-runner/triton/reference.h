// What one kernel wrote, kept in this process: other variants of the kernel are held against it.
#ifndef TAD_GPU_RUNNER_TRITON_REFERENCE_H
#define TAD_GPU_RUNNER_TRITON_REFERENCE_H

#include "gpu-runner/triton/kernel.h"

/// Runs the kernel once, on tensors as they were filled, and keeps what the arguments that it writes hold then.
Error reference_keep(GpuBuffers *buffers, LoadedKernel *kernel, const Json *arguments);
/// The same run of a variant. A sentence where it fails, or where an element differs from what was kept by more than another order of sums
/// explains.
Error reference_compare(GpuBuffers *buffers, LoadedKernel *kernel, const Json *arguments);

#endif
