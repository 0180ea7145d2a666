// Lanes for work that may take long: each builds a snapshot of its own, so that it shares nothing with the fast lane.
#ifndef TAD_SERVER_SLOW_LANE_H
#define TAD_SERVER_SLOW_LANE_H

#include "autodiff/backward.h"
#include "server/session.h"

struct SlowLane *slow_lane_new(Arena *arena);
void slow_lane_free(struct SlowLane *lane);

/// A snapshot of the request's text that the lane keeps until it needs another. NULL and a failed request as request_snapshot.
const Snapshot *slow_snapshot(Request *request);
/// All files that it imports, read for this snapshot; texts live as long as the snapshot.
Imports slow_imports(Request *request);
/// What the worker is asked about a kernel of the lane's snapshot and its backward (`text`: the module with its kernels).
Json *slow_proof_params(Request *request, const Kernel *kernel, const Backward *backward,
                        const char *text, double limit_s);

#endif
