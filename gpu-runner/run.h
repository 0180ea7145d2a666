// The request `run`: one forward launch on given data, the buffers after it in the answer.
#ifndef TAD_GPU_RUNNER_RUN_H
#define TAD_GPU_RUNNER_RUN_H

#include "gpu-runner/prove/request.h"

Json *request_run(Arena *arena, const Json *params, const atomic_bool *cancelled, Error *error);
Json *request_probe(Arena *arena);

#endif
