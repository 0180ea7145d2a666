// A file in; the same file with forwards that store row statistics, where their backwards then need fewer loops, out.
#ifndef TAD_AUTODIFF_SAVING_SAVING_H
#define TAD_AUTODIFF_SAVING_SAVING_H

#include "autodiff/state/result.h"

/// What a file's forwards store for their backwards.
typedef struct Saving {
    const Snapshot *snapshot;  // the file to derive from; that of the caller where nothing is saved
    const SavedValue *values;
    int count;
    bool is_own;  // the snapshot is released by saving_close
} Saving;

/// Tries which values of the forwards would spare their backwards a loop, by deriving them. `only`: the name of one kernel; or NULL.
/// Its snapshot lives until saving_close.
Saving saving_open(Arena *arena, const Snapshot *snapshot, const BackwardOptions *options,
                   const char *only);
void saving_close(Saving *saving);
/// The kernel as it is to be derived: that of the same name in the saving's snapshot.
const Kernel *saving_kernel(const Saving *saving, const Kernel *kernel);
/// Notes on a new snapshot, before anybody else has it, what its forwards store for their backwards.
void saving_mark(Snapshot *snapshot, const SavedValues *values);
/// The file that a module of ours was derived from, as the module's forwards are: takes `origin` and returns it, or another one in its
/// place, to be released. NULL is allowed.
Snapshot *saving_origin(Arena *arena, Snapshot *origin, Str module, const BackwardOptions *options);

#endif
