// One GPU: found, taken, and used for a kernel of ours. Everything here answers with a sentence where the driver refuses.
#ifndef TAD_GPU_RUNNER_CUDA_DEVICE_H
#define TAD_GPU_RUNNER_CUDA_DEVICE_H

#include "analysis/choices/tiles.h"
#include "base/json.h"
#include "gpu-runner/cuda/driver.h"
#include "gpu-runner/cuda/nvrtc.h"

typedef struct Device {
    Arena *arena;
    Driver driver;
    Nvrtc nvrtc;
    Error driver_missing, nvrtc_missing, gpu_missing;  // what keeps it from being used, or NULL
    int driver_version;                                // 12080 for 12.8; 0: not known
    int ordinal;                                       // of those that the driver shows
    int id;                                            // what the driver calls it
    const char *name;                                  // of the GPU
    int architecture;                                  // 90 for compute capability 9.0
    int processors;                                    // that run blocks
    int shared_bytes;                                  // of a block, at most
    void *context;
    Error lost;  // why this process cannot use it any more, or NULL
    double
        again_s;  // by clock_seconds(): when one that could not be taken is asked for again; 0: never
} Device;

/// What this process spent seconds on, from its start.
typedef struct DeviceTimes {
    double opening;     // libraries and the context
    double compiling;   // as long as somebody waited
    double allocating;  // memory of the GPU, and freeing it
    double copying;
    double running;  // kernels, from their launch to their end
} DeviceTimes;

/// A kernel on the GPU.
typedef struct DeviceKernel {
    void *module, *function;
} DeviceKernel;

/// Asks for the GPU, once and before a request is read. Without it nobody opens a library. `is_eager`: it is to do all that it can; else
/// what takes the interpreter long.
void device_want(bool is_eager);
bool device_is_wanted(void);
bool device_is_eager(void);
/// Which of the GPUs that the driver shows, counted round them: once one is open it stays that one. Negative: none is wanted until the
/// next choice.
void device_choose(int ordinal);
/// Whether this process had a GPU and cannot use it any more.
bool device_is_lost(void);
/// Why the GPU that is wanted does nothing at all now; NULL where it does, or nobody has asked for it yet.
Error device_gone(void);
/// No kernel runs beyond this time of clock_seconds().
void device_limit(double deadline);
/// Seconds until then; infinite where there is no such time.
double device_time_left(void);
/// The GPU of this process: the one that was chosen, else the first that the driver names. Opened by the first call; the same ever after,
/// but for one that could not be taken then: it is asked for again, some seconds apart.
Device *device_open(void);
/// NULL where it can run kernels.
Error device_missing(const Device *device);

DeviceTimes device_times(void);

/// What launchers choose tiles by.
TileCard device_card(const Device *device);

/// Compiles `text` and loads the kernel `name` of it. `is_quick`: for kernels that have little to do. Sentences are in `arena`.
Error device_load(Device *device, Arena *arena, const char *text, const char *name, bool is_quick,
                  DeviceKernel *kernel);
void device_unload(Device *device, DeviceKernel *kernel);
/// Compiles texts of kernels that device_kernel will ask for, beside each other. What does not compile is left to it.
void device_prepare(Device *device, const char *const *texts, int count, bool is_quick);
/// The same of a text that may come again: it stays loaded, and is not to be unloaded.
Error device_kernel(Device *device, Arena *arena, const char *text, const char *name, bool is_quick,
                    DeviceKernel *kernel);
/// Memory of the GPU, with whatever was there.
Error device_allocate(Device *device, Arena *arena, size_t size_bytes, uint64_t *address);
/// Copies into memory of the GPU, and back.
Error device_copy(Device *device, Arena *arena, const void *data, size_t size_bytes,
                  uint64_t address);
Error device_take(Device *device, Arena *arena, uint64_t address, void *data, size_t size_bytes);
/// Gives memory back, for whoever asks for as much next.
void device_release(Device *device, uint64_t address);
/// Whether such memory is kept, which no other process can have; and its end.
bool device_holds_spare(void);
void device_rest(void);
/// Runs `blocks` blocks of `threads` threads, with the one address that our kernels take, and waits for them.
Error device_launch(Device *device, Arena *arena, const DeviceKernel *kernel, unsigned blocks,
                    unsigned threads, uint64_t argument);

/// As device_launch waits, for a kernel that somebody else launched.
Error device_wait(Device *device, Arena *arena);
/// What a code of the driver means, and NULL for 0. After one by which the context is lost nobody uses the GPU any more.
Error device_error(Device *device, Arena *arena, int code, const char *tried);

/// {"name": "cuda", "available", "driver", "nvrtc", "gpu", each with "found" or "missing"}. A kernel of its own runs before it says
/// "available".
Json *device_probe(Arena *arena);

#endif
