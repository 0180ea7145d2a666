// What a written module shows of the options that it was derived with.
#ifndef TAD_SERVER_EDITS_REDERIVED_H
#define TAD_SERVER_EDITS_REDERIVED_H

#include "autodiff/backward.h"
#include "autodiff/module/carried.h"

/// What makes launchers differentiable in a module of ours.
WrapperKind wrapper_of(Str module);
/// Whether the kernels of a module of ours run in the configuration that the forward's tuner took.
bool is_untuned(Str module);
/// The file that the module was derived from, with what its forwards store for the module's backwards: takes `origin`, and returns what is
/// to be released in its place.
Snapshot *origin_as_written(Arena *arena, Snapshot *origin, Str module);

/// The forward file that a module of ours carries (module_carried) as the module's forwards are, to be released.
Snapshot *forward_carried(Arena *arena, const char *path, const char *text, Str module,
                          const Resolver *resolver);

/// The module that this version derives from `forward` for the kernels of these names, as the written one has it: with its options, and
/// with the inputs that its Functions name where `by_inputs` is set. NULL where the rules refuse one of the kernels.
const char *module_rederived(Arena *arena, const Snapshot *forward, const Snapshot *written,
                             const CarriedNames *kernels, bool by_inputs);
/// Whether the Functions of both modules name the same inputs.
bool modules_name_the_same(Arena *arena, Str one, Str two);

#endif
