// A module of ours read back: the file that it carries, without what was derived from it. An edited module is merged by that.
#ifndef TAD_AUTODIFF_MODULE_CARRIED_H
#define TAD_AUTODIFF_MODULE_CARRIED_H

#include "autodiff/state/result.h"
#include "base/error.h"

typedef LIST(Str) CarriedNames;

/// A Function that we wrote around a kernel.
typedef struct CarriedFunction {
    Str name;             // of the class
    Str kernel;           // that it launches
    Str callee;           // what it calls the kernel, which may be a wrapper of it
    CarriedNames passed;  // the parameters of its `forward` behind the context
} CarriedFunction;

/// What was read back. Lives as long as the module's snapshot and the arena.
typedef struct CarriedFile {
    Error refusal;  // why there is no text; else NULL
    const char *text;
    LIST(CarriedFunction) functions;
    CarriedNames kernels;  // forward kernels whose backward the module holds
} CarriedFile;

/// The file that the module was derived from, as far as the module says: its statements, with launches in the place of Functions, and
/// without the kernels, classes and helpers that we wrote.
CarriedFile module_carried(Arena *arena, const Snapshot *module);

/// The text of `base`, the module derived from what `ours` carries. A statement of the user's that `ours` and `theirs` have differently may
/// have been edited in the one or have changed in the file of the other, which nobody can tell. So it is taken out, and a line that no
/// module has stands for it, unless it is a launcher whose launches alone differ, by parameters that one of the two kernels lacks.
const char *carried_base(Arena *arena, const Snapshot *base, const Snapshot *ours,
                         const Snapshot *theirs);

#endif
