// Compiled code in the user's folder for such things, so that a kernel is compiled once a machine. Whatever is wrong with a file or the
// folder: there is no code then, and the compiler runs.
#ifndef TAD_GPU_RUNNER_CUDA_CACHE_H
#define TAD_GPU_RUNNER_CUDA_CACHE_H

#include "base/text.h"

enum {
    CACHE_MOST_FILES = 512,  // of both the oldest go first
    CACHE_MOST_BYTES = 128 << 20
};

/// The code that was kept for `key`, all of what it was made from, in `arena`. No data where there is none: a file of another key, or one
/// that is not whole, is none.
Str cache_find(Arena *arena, Str key);
/// Keeps the code. Several processes may do so at once: a file appears whole or not at all.
void cache_keep(Arena *arena, Str key, Str code);

#endif
