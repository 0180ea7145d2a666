// The importable module of a file and its backwards. The front header of autodiff/module/.
#ifndef TAD_AUTODIFF_MODULE_MODULE_H
#define TAD_AUTODIFF_MODULE_MODULE_H

#include "autodiff/state/result.h"

/// The importable module: forward kernels and helpers as they are, the emitted kernels, and per launcher a differentiable
/// function of the same name and signature (options->wrapper). Only BACKWARD_DERIVED entries are written.
const char *backward_module(Arena *arena, const Snapshot *snapshot, Backward *const *backwards,
                            int count, const BackwardOptions *options, Diagnostics *diagnostics);
/// The name of the file that a module of ours was derived from, as its text says below the comments at its top; empty for
/// other texts.
Str backward_origin(Str text);
/// What the forwards of a module of ours store for their backwards, as its header says: which kernels, through which parameters, what.
SavedValues module_saved(Arena *arena, Str text);

#endif
