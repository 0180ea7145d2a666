// Queues for work that may take long: each builds a snapshot of its own, so that it shares nothing with the fast queue.
#ifndef TAD_SERVER_QUEUES_SLOW_QUEUE_H
#define TAD_SERVER_QUEUES_SLOW_QUEUE_H

#include "autodiff/backward.h"
#include "server/session/session.h"

struct SlowQueue *slow_queue_new(Arena *arena);
void slow_queue_free(struct SlowQueue *queue);

/// A snapshot of the request's text that the queue keeps until it needs another. NULL and a failed request as request_snapshot.
const Snapshot *slow_snapshot(Request *request);
/// All files that it imports, read for this snapshot; texts live as long as the snapshot.
Imports slow_imports(Request *request);
/// `[tool.tad]` for the request's document, read anew: what the fast queue keeps is its own.
const Settings *slow_settings(const Request *request);
/// What the worker is asked about a kernel of a snapshot, which imports `imports`, and its backward (`text`: the module with its
/// kernels).
Json *slow_proof_params(Request *request, const Snapshot *snapshot, Imports imports,
                        const Kernel *kernel, const Backward *backward, const char *text,
                        double limit_s);

#endif
