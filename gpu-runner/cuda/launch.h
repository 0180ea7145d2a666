// A kernel of the interpreter's, run on the GPU against the interpreter's memory.
#ifndef TAD_GPU_RUNNER_CUDA_LAUNCH_H
#define TAD_GPU_RUNNER_CUDA_LAUNCH_H

#include "gpu-runner/cuda/device.h"
#include "gpu-runner/interp/interp.h"
#include "gpu-runner/staging/texts.h"

/// What a request did on the GPU, for its answer.
typedef struct CudaUse {
    Arena *arena;         // of the sentence
    LoweredTexts *texts;  // of its launches; NULL: there were none
    int64_t launches;
    int64_t backwards;    // of them, of backward kernels
    int64_t tangents;     // with tangents
    int64_t rounded;      // in the element types of the launch
    DeviceTimes before;   // when the request began
    double interpreting;  // interp_seconds(), then
    Error refused;  // why the cpu backend ran what the GPU should have, the first time; or NULL
} CudaUse;

typedef struct CudaCall {
    const Function *function;
    Tile *const *arguments;  // one a parameter
    const int64_t *grid;     // of three axes
    bool reversed;           // the last program comes first
    bool in_order;           // one program after the other: they meet in memory
    StagedNumbers numbers;
    LoweredTexts *texts;  // that are known; or NULL
    const VirtualMemory *
        footprint;  // memory after the same launch by the interpreter, which says what is touched; NULL: buffers are as large as they say
} CudaCall;

/// Runs all programs on the GPU of this process. `memory` then holds what they wrote, and nothing of who wrote it. A
/// sentence in `arena`, and `memory` as it was, where it cannot run there or does not get through.
Error cuda_launch(Arena *arena, VirtualMemory *memory, const CudaCall *call);

/// Compiles the kernels of these launches beside each other, and `first`, a text that is none of theirs (or NULL); `is_quick` as
/// device_load's. What has no lowering, or does not compile, is left to the launch.
void cuda_prepare(Device *device, const char *first, const CudaCall *calls, int count,
                  bool is_quick);
/// A sentence where NVRTC would take too long for the kernel's text: for one of a large size, or with so much time left.
Error launch_too_long(Arena *arena, const Lowered *lowered, bool is_quick);
/// Numbers and addresses of the arguments as the kernel reads them: 8 bytes each; and their tangents, where they are wanted.
void launch_arguments(const CudaCall *call, int64_t *bits, double *tangents);
/// What a launch says of itself after it ran: NULL, or a sentence.
Error launch_fault(Arena *arena, const LoweredLaunch *launch);

/// The texts of a request, made by its first launch.
LoweredTexts *cuda_texts(CudaUse *use);

#endif
