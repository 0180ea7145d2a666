// Kernels of the local index, with their backwards, for a question to a model.
#ifndef TAD_SERVER_MODEL_EXAMPLES_H
#define TAD_SERVER_MODEL_EXAMPLES_H

#include "analysis/snapshot.h"
#include "base/error.h"
#include "server/retrieval/similar.h"

/// The forwards that are built most like the kernel, `count` at most, each with its backward, in Markdown; "" where none is similar.
/// NULL and `*error` where there is no index, or where it lies in `workspace` (a real path), which cannot speak for the user.
const char *examples_text(Arena *arena, const char *path, const Kernel *kernel, int count,
                          const char *workspace, Error *error);

#endif
