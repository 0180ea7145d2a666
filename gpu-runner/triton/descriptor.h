// A tensor descriptor that a launch hands to a kernel, as Triton's own launcher makes it: a tensor map of the driver's.
#ifndef TAD_GPU_RUNNER_TRITON_DESCRIPTOR_H
#define TAD_GPU_RUNNER_TRITON_DESCRIPTOR_H

#include "gpu-runner/triton/calls.h"

/// `slot` says how the kernel was compiled: "swizzle", "element" (CUtensorMapDataType), "bytes" of an element, "block", and "doubled"
/// where two numbers share an element. `argument` has the tensor's "shape" and "strides" in elements, which begin at `address` on the
/// GPU. `*map` is what the launch takes; it lives in `arena`. A sentence where the driver is too old, or refuses it: the address and
/// all strides but the last have to be multiples of 16 bytes (CUDA driver API, cuTensorMapEncodeTiled).
Error descriptor_map(Arena *arena, const GpuCalls *calls, const Json *slot, const Json *argument,
                     uint64_t address, void **map);

#endif
