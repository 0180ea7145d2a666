// A module with a backward in it, and what this version derives from its forward: where a hand has made the one another.
#ifndef TAD_SERVER_EDITS_EDITED_H
#define TAD_SERVER_EDITS_EDITED_H

#include "analysis/snapshot.h"
#include "base/list.h"

typedef struct FunctionEdit {
    const char *kernel;  // the forward whose gradients pass there; "" for what all of them use
    Range range;         // in the module
    const char *message;
    uint32_t item;     // where the statement at module level starts
    bool is_replaced;  // it takes the place of a derived one
} FunctionEdit;

typedef LIST(FunctionEdit) FunctionEdits;

/// The file that a module of ours was derived from, where it lies beside it; else NULL. `*name`: what the module calls it; NULL: it is none
/// of ours. To be released.
Snapshot *module_origin(Arena *arena, const Snapshot *written, const Resolver *resolver,
                        const char **name);

/// Whether both kernels are the same but for comments and layout, decorators included.
bool kernels_read_the_same(Arena *arena, const Kernel *a, const Kernel *b);

/// What a proof of kernels does not see: the Functions, operators, launchers, helpers and tables around them, each place that is not what
/// is derived. `origin`: module_origin; where it is NULL, or has other kernels, the forward is what the module carries.
FunctionEdits function_edits(Arena *arena, const Snapshot *written, const Snapshot *origin,
                             const Resolver *resolver);

#endif
