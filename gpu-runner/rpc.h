// JSON-RPC 2.0 over a pair of pipes: one thread reads requests, another works, so that a cancel is heard in time.
#ifndef TAD_GPU_RUNNER_RPC_H
#define TAD_GPU_RUNNER_RPC_H

#include <stdio.h>

#include "base/json.h"

/// Serves until `shutdown` or the end of the input. The exit status.
int rpc_serve(FILE *input, FILE *output);

#endif
