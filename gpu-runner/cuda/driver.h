// NVIDIA's driver: its library, opened at run time, and what its codes mean.
#ifndef TAD_GPU_RUNNER_CUDA_DRIVER_H
#define TAD_GPU_RUNNER_CUDA_DRIVER_H

#include "gpu-runner/cuda/library.h"

typedef struct Driver {
#define CALL(field, symbol, ...) int (*field)(__VA_ARGS__);
#define FAULT(code, text)
#define LOST(code, text)
#include "gpu-runner/cuda/driver.def"
#undef CALL
#undef FAULT
#undef LOST
} Driver;

enum {
    DRIVER_NOT_READY = 600,  // what the driver says of a kernel that runs
    DRIVER_TOO_LONG = 46000  // our own: a kernel that runs too long
};

/// Opens the library and initialises the driver. A sentence where there is none, or no GPU.
Error driver_open(Arena *arena, Driver *driver);
/// NULL for code 0; else a sentence of what was tried, what the driver calls it and what that means.
Error driver_error(Arena *arena, const Driver *driver, int code, const char *tried);
/// Whether no call that follows can go well.
bool driver_is_lost(int code);

#endif
