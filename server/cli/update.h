// A module of ours that a hand has edited, and the file that it was derived from, which has changed: both in one text.
#ifndef TAD_SERVER_CLI_UPDATE_H
#define TAD_SERVER_CLI_UPDATE_H

#include "autodiff/backward.h"
#include "base/error.h"
#include "server/report/merge.h"

typedef struct ModuleUpdate {
    Error refusal;    // why the module's own edits cannot be told from what was derived; else NULL
    LineMerge merge;  // without a refusal
} ModuleUpdate;

/// The module at `path`, whose text is `ours`, merged with `theirs`, which was derived anew from the file at `origin`. What they have in
/// common is derived from the forward that `ours` carries.
ModuleUpdate module_merge(Arena *arena, const char *path, Str ours, const char *origin,
                          const char *theirs, const Resolver *resolver,
                          const BackwardOptions *options);

/// The module of `origin` anew, with the backwards that the module `ours` holds, and of kernels that share a launcher with these. NULL and
/// `refusal` where the rules refuse one of them, or where `ours` has none.
const char *module_anew(Arena *arena, const Snapshot *origin, const char *path, Str ours,
                        const Resolver *resolver, const BackwardOptions *options, Error *refusal);

#endif
