// Shared libraries that may be missing: opened when they are wanted, so that one build serves machines with and without a GPU.
#ifndef TAD_GPU_RUNNER_CUDA_LIBRARY_H
#define TAD_GPU_RUNNER_CUDA_LIBRARY_H

#include "base/error.h"
#include "base/text.h"

/// The first of `names` (NULL-terminated) that can be opened, or the file that the variable `variable` of the environment names: then
/// that or none. NULL and `*error` otherwise. It stays open as long as the process lives.
void *library_open(Arena *arena, const char *variable, const char *const *names, Error *error);
/// Stores the address of a function at `*pointer`, a pointer to a function. A sentence where the library lacks it.
Error library_function(Arena *arena, void *library, const char *symbol, void *pointer);

#endif
