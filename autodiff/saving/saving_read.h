// A text whose kernels store more, as a module of ours has it, in; the text without that out.
#ifndef TAD_AUTODIFF_SAVING_SAVING_READ_H
#define TAD_AUTODIFF_SAVING_SAVING_READ_H

#include "analysis/snapshot.h"

/// Takes the parameters and the stores of `values` (module_saved) out of the text. Other launches than the Functions' pass none of them.
const char *saving_removed(Arena *arena, const Snapshot *snapshot, const SavedValues *values);
/// The snapshot of the file without anything that is stored for a backward alone, of either form; to be released.
Snapshot *saving_plain(Arena *arena, const Snapshot *snapshot, const SavedValues *values);

#endif
