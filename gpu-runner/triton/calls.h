// What launching a kernel of Triton's and timing it ask of NVIDIA's driver, and what its meters say.
#ifndef TAD_GPU_RUNNER_TRITON_CALLS_H
#define TAD_GPU_RUNNER_TRITON_CALLS_H

#include "base/json.h"
#include "gpu-runner/cuda/device.h"

/// CUlaunchAttribute of the driver: a number, and a value in 64 bytes at an address that 8 divides.
typedef struct LaunchAttribute {
    int id, unused;
    union {
        int number;
        unsigned sizes[3];
        char room[64];
    } value;
} LaunchAttribute;

/// CUlaunchConfig.
typedef struct LaunchConfig {
    unsigned grid[3], block[3];
    unsigned shared;
    void *stream;
    LaunchAttribute *attributes;
    unsigned attribute_count;
} LaunchConfig;

typedef struct GpuCalls {
#define CALL(field, symbol, ...) int (*field)(__VA_ARGS__);
#define OPTION CALL
#define METER CALL
#include "gpu-runner/triton/calls.def"
#undef CALL
#undef OPTION
#undef METER
    void *meter;  // of the GPU; NULL where libnvidia-ml does not open
} GpuCalls;

/// Opened by the first call, on the GPU of this process; the same ever after. A sentence where it cannot be used.
Error calls_open(const Device **device, const GpuCalls **calls);
/// NULL for code 0; else what was tried and what the driver says.
Error calls_error(Arena *arena, int code, const char *tried);
/// Clocks, power and temperature into `into`, as far as they can be read.
void meter_read(const GpuCalls *calls, Json *into);

#endif
