// Kernels of the user's index that are built like one of a file, as places to look at.
#ifndef TAD_SERVER_REQUESTS_REQUEST_SIMILAR_H
#define TAD_SERVER_REQUESTS_REQUEST_SIMILAR_H

#include "analysis/snapshot.h"
#include "server/queues/request.h"

/// [{"similarity", "name", "uri", "range", "copies", "backwards": [{"name", "uri", "range"}]}], the nearest first; files that are gone are
/// left out. `wanted` may have `top_k`, `min_sim` and `exclude`. NULL and a failed request where there is no index.
Json *similar_places(Request *request, const Kernel *kernel, const Json *wanted);
/// Whether the user has an index at all.
bool similar_is_known(Arena *arena);

#endif
