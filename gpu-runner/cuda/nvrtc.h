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
/// How a text is compiled. Products and sums are not contracted in any case.
typedef struct NvrtcTarget {
    int architecture;  // compute capability: 90 for 9.0
    bool is_quick;     // compiled in half the time; the code takes longer
} NvrtcTarget;

/// Code of `text` in `arena`; that of an earlier process where it was kept (cache.h). No data and `*error`, with the compiler's first
/// complaint, where it does not compile.
Str nvrtc_compile(Arena *arena, const Nvrtc *nvrtc, const char *text, NvrtcTarget target,
                  Error *error);
/// The same of many texts, beside each other on as many processors as there are. What does not compile has no data: nvrtc_compile says
/// why.
void nvrtc_compile_all(Arena *arena, const Nvrtc *nvrtc, const char *const *texts, int count,
                       NvrtcTarget target, Str *codes);

#endif
