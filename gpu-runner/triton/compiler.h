// The user's Triton as a compiler: a Python of his that runs gpu-runner/triton/compile_kernels.py, and answers line by line.
#ifndef TAD_GPU_RUNNER_TRITON_COMPILER_H
#define TAD_GPU_RUNNER_TRITON_COMPILER_H

#include "base/json.h"
#include "gpu-runner/interp/budget.h"

/// Starts `python` (a program and its arguments) unless it runs already: there is one a process, warm for the next compile.
Error compiler_start(Arena *arena, const Json *python);
/// {"triton", "python"} of it. NULL and `*error` where it does not come up.
const Json *compiler_release(Arena *arena, Budget *budget, Error *error);
/// One request and its answer, in `arena`. NULL and `*error` where there is none: then it was ended, and the next one starts another.
Json *compiler_ask(Arena *arena, const Json *request, Budget *budget, Error *error);
/// The bytes that a base64 text stands for; `*size` is 0 where it is none.
char *base64_bytes(Arena *arena, Str text, size_t *size);

#endif
