// A file in; the same file with forwards that store row statistics, where their backwards then need fewer loops, out.
#ifndef TAD_AUTODIFF_SAVING_SAVING_H
#define TAD_AUTODIFF_SAVING_SAVING_H

#include "autodiff/state/result.h"

/// A file whose forwards store more for their backwards.
typedef struct Saving {
    const Snapshot
        *snapshot;  // the file to derive from, with `saved`; that of the caller where nothing is
    bool is_own;    // it is released by saving_close
} Saving;

/// The kernels that may store something.
typedef struct SavingWish {
    const Kernel *const *kernels;
    int count;
} SavingWish;

/// Tries which values of the forwards would spare their backwards a loop, by deriving them. `wish` may be NULL: all kernels may store.
/// What a kernel is to store is found once for each snapshot, where no option but a Function is asked for. Lines are those of the file.
Saving saving_open(Arena *arena, const Snapshot *snapshot, const BackwardOptions *options,
                   const SavingWish *wish);
/// The same for one kernel; NULL: for all.
Saving saving_of(Arena *arena, const Snapshot *snapshot, const BackwardOptions *options,
                 const Kernel *kernel);
void saving_close(Saving *saving);
/// The kernel as it is to be derived: that of the same name in the saving's snapshot.
const Kernel *saving_kernel(const Saving *saving, const Kernel *kernel);
/// backward_derive of the kernel that stores more. What is found is said of the kernel as its file has it.
Backward *saving_derive(Arena *arena, const Saving *saving, const Kernel *kernel,
                        const BackwardOptions *options, Diagnostics *diagnostics);
/// Whether the kernel stores something for its backward alone.
bool saving_has(const Saving *saving, const Kernel *kernel);

/// The file with forwards that store what a module's do (module_saved), as far as its kernels still compute that. Takes `plain`, and
/// returns it or another one in its place, to be released.
Snapshot *saving_as(Arena *arena, Snapshot *plain, const SavedValues *values);

#endif
