// NVIDIA's run-time compiler: CUDA C++ text in, code for one GPU out.
#ifndef TAD_GPU_RUNNER_CUDA_NVRTC_H
#define TAD_GPU_RUNNER_CUDA_NVRTC_H

#include "gpu-runner/cuda/library.h"

typedef struct Nvrtc {
#define CALL(field, symbol, ...) int (*field)(__VA_ARGS__);
#include "gpu-runner/cuda/nvrtc.def"
#undef CALL
    int major, minor;  // its release
} Nvrtc;

Error nvrtc_open(Arena *arena, Nvrtc *nvrtc);
/// Code of `text` for compute capability `architecture` (90 for 9.0), in `arena`. Products and sums are not contracted. NULL and
/// `*error`, with the compiler's first complaint, where it does not compile.
const char *nvrtc_compile(Arena *arena, const Nvrtc *nvrtc, const char *text, int architecture,
                          Error *error);

#endif
