// JSON-RPC 2.0 over a pair of pipes: one thread reads requests, another works, so that a cancel is heard in time.
#ifndef TAD_RUNNER_RPC_H
#define TAD_RUNNER_RPC_H

#include <stdio.h>

#include "base/json.h"

/// The next message body, read whole. False at the end of the input or, with `*error`, where it is malformed.
bool frame_read(FILE *input, Arena *arena, Str *body, Error *error);
/// Header and body, flushed. False when the other side is gone.
bool frame_write(FILE *output, const char *body);

/// Serves until `shutdown` or the end of the input. The exit status.
int rpc_serve(FILE *input, FILE *output);

#endif
