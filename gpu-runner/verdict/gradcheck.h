// The request `gradcheck`: every configuration of a kernel is run and compared; what was found is put into one result.
#ifndef TAD_GPU_RUNNER_VERDICT_GRADCHECK_H
#define TAD_GPU_RUNNER_VERDICT_GRADCHECK_H

#include "gpu-runner/prove/request.h"

/// The methods of the protocol: params in, result out, or NULL and `*error`.
Json *request_gradcheck(Arena *arena, const Json *params, const atomic_bool *cancelled,
                        ProgressCallback *progress, void *context, Error *error);

#endif
