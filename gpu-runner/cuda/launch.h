// A kernel of the interpreter's, run on the GPU against the interpreter's memory.
#ifndef TAD_GPU_RUNNER_CUDA_LAUNCH_H
#define TAD_GPU_RUNNER_CUDA_LAUNCH_H

#include "gpu-runner/interp/interp.h"

/// What a request did on the GPU, for its answer.
typedef struct CudaUse {
    Arena *arena;  // of the sentence
    int64_t launches;
    Error refused;  // why the cpu backend ran what the GPU should have, the first time; or NULL
} CudaUse;

/// Runs all programs of `grid` on the GPU of this process, in doubles. `memory` then holds what they wrote, and nothing of who wrote
/// it. `footprint`: the memory of the same launch by the interpreter, which says what is touched; NULL: buffers are as large as
/// they say. A sentence in `arena`, and `memory` as it was, where it cannot run there or does not get through.
Error cuda_launch(Arena *arena, VirtualMemory *memory, const Function *function,
                  Tile *const *arguments, const int64_t grid[3], const VirtualMemory *footprint);

#endif
