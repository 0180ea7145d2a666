// A cubin of Triton's on the GPU, and its launch by the convention of the release that made it.
#ifndef TAD_GPU_RUNNER_TRITON_KERNEL_H
#define TAD_GPU_RUNNER_TRITON_KERNEL_H

#include "base/list.h"
#include "gpu-runner/triton/calls.h"

/// What lies on the GPU while kernels are timed, by the key of the plan.
typedef struct GpuBuffer {
    const char *key;
    uint64_t base, first;  // of all elements; of the element that a kernel's address names
    size_t bytes;
} GpuBuffer;

typedef struct GpuBuffers {
    Arena *arena;
    Device *device;
    const GpuCalls *calls;
    LIST(GpuBuffer) list;
    LIST(uint64_t) scratch;  // of launches
    uint64_t scratch_bytes;  // so many in all
} GpuBuffers;

/// The buffer of an argument, made and filled as its plan says where there is none yet.
Error buffers_take(GpuBuffers *buffers, const Json *argument, const GpuBuffer **buffer);
/// The first `count` elements of the argument's tensor, as they are now.
Error buffers_read(GpuBuffers *buffers, const Json *argument, int count, Json **numbers);
void buffers_free(GpuBuffers *buffers);

enum { LAUNCH_MOST_ATTRIBUTES = 4 };

typedef struct LoadedKernel {
    const char *name;  // said where it fails; NULL: it is no kernel of several
    DeviceKernel on_gpu;
    LaunchConfig config;
    LaunchAttribute attributes[LAUNCH_MOST_ATTRIBUTES];
    void **parameters;
    int registers, spilled;  // spilled: bytes of a thread
    int blocks_at_once;      // of a processor; 0: the driver does not say
    double occupancy;        // of a processor's threads; 0: not known
    double waves;            // how often all processors are filled; 0: not known
} LoadedKernel;

/// Loads what the compiler answered and binds `arguments`, those of the plan, whose buffers are taken already.
Error kernel_load(Arena *arena, GpuBuffers *buffers, const Json *compiled, const Json *arguments,
                  const double grid[3], LoadedKernel *kernel);
/// Asks for one run, and does not wait for it.
Error kernel_start(Arena *arena, const GpuCalls *calls, LoadedKernel *kernel);
void kernel_unload(GpuBuffers *buffers, LoadedKernel *kernel);

#endif
