// Memory of the GPU that was given back, kept for whoever asks for as much next: to take and to free it keeps the driver for milliseconds.
#ifndef TAD_GPU_RUNNER_CUDA_SPARE_H
#define TAD_GPU_RUNNER_CUDA_SPARE_H

#include "gpu-runner/cuda/driver.h"

/// Memory with whatever was there; what is kept is freed first where there is no other. A code of the driver, 0 where `*address` is set.
int spare_take(const Driver *driver, size_t size_bytes, uint64_t *address);
void spare_give(const Driver *driver, uint64_t address);
/// Whether some is kept.
bool spare_is_there(void);
/// Frees all that is kept.
void spare_free(const Driver *driver);

#endif
