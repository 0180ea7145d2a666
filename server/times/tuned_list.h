// The best few of a tuning as a list of configurations, and as an edit of the file.
#ifndef TAD_SERVER_TIMES_TUNED_LIST_H
#define TAD_SERVER_TIMES_TUNED_LIST_H

#include "codeactions/tuned.h"
#include "server/times/tuning.h"

/// Those of the `most` fastest that take at most a tenth longer than the fastest, written into the file: the list of its autotune, or
/// the fastest into its launch (codeactions/tuned.h). A refusal
/// where that cannot be, or where nothing is faster than the kernel as it is.
ActionEdit tuned_list_edit(Arena *arena, const Snapshot *snapshot, const Kernel *kernel,
                           const TuningResult *result, int most);
/// The list alone; "" where nothing is faster than the kernel as it is.
const char *tuned_list_text(Arena *arena, const TuningResult *result, int most);

#endif
