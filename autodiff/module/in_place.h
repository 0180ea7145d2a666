// The backward as edits of the forward's own file.
#ifndef TAD_AUTODIFF_MODULE_IN_PLACE_H
#define TAD_AUTODIFF_MODULE_IN_PLACE_H

#include "autodiff/state/result.h"

/// A change of the forward's own file: the bytes of `range` become `text`.
typedef struct BackwardEdit {
    Range range;
    const char *text;
} BackwardEdit;
/// The other way to deliver: the emitted kernel and its wrapper below the forward, and the file's launchers made
/// differentiable where they stand. An emitted kernel that the file has already is replaced, its wrapper kept. `*edits` is sorted by place. Returns their number.
int backward_in_place(Arena *arena, const Snapshot *snapshot, const Backward *backward,
                      BackwardEdit **edits);

#endif
