// Vectors of the index and of kernels that are asked about. Where there are none, nothing stops: structure and words tell.
#ifndef TAD_SERVER_EMBEDDING_VECTORS_H
#define TAD_SERVER_EMBEDDING_VECTORS_H

#include "server/retrieval/store.h"
#include "server/settings/options.h"

/// After `--index`: the texts that are new or have changed get a vector each, where an endpoint is set up and the user agrees. Says what came of
/// it.
void vectors_update(const Options *options);
/// The vectors of `count` kernels of a file, from the index, or from the endpoint where the user has agreed for the file's workspace. Says why
/// there are none. Returns what the index keeps vectors under, or NULL; `*weight` is what they count.
const char *vectors_of(Arena *arena, const Options *options, const char *file, Store *store,
                       StoredKernel *kernels, int count, double *weight);

#endif
