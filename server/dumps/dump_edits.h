// `--dump edits`: where a hand has edited what stands around the kernels of a backward.
#ifndef TAD_SERVER_DUMPS_DUMP_EDITS_H
#define TAD_SERVER_DUMPS_DUMP_EDITS_H

#include "analysis/snapshot.h"
#include "server/text/resolve.h"

/// A line for each place.
const char *edits_text(Arena *arena, const Snapshot *snapshot, ImportResolver *resolver);

#endif
