// Files into what the index keeps of them.
#ifndef TAD_SERVER_RETRIEVAL_COLLECT_H
#define TAD_SERVER_RETRIEVAL_COLLECT_H

#include "analysis/snapshot.h"
#include "server/retrieval/store.h"

typedef struct Collector Collector;

/// `known`: what the index has (store_files). Freed by collector_free; what it returns is in `arena`.
Collector *collector_new(Arena *arena, const Map *known);
void collector_free(Collector *collector);
/// Whether the index has the file as it is now, and all that it imports. By time and size; where these differ, by content.
bool collector_is_current(Collector *collector, const char *path);
/// Reads and analyses a file, whose path is absolute and real. NULL and `*error` where it cannot be read. A BUG is the caller's to catch.
StoredFile *collector_read(Collector *collector, const char *path, Error *error);

/// What the index keeps of a kernel that was lowered, of the file at `path`; "" where it has none. In `arena`, but for `path`.
StoredKernel collect_kernel(Arena *arena, const char *path, const Kernel *kernel);

#endif
