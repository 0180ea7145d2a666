// Inside autodiff/: what the forward computed and stored is loaded by the backward instead of computed again.
#ifndef TAD_AUTODIFF_TAPE_SAVED_H
#define TAD_AUTODIFF_TAPE_SAVED_H

#include "autodiff/state/differentiation.h"

/// After the sweep, before the forward's stores are removed: scalars that the forward reduces from tiles and stores as they
/// are (the mean of a row) become loads from where it stored them, if every launch in the kernel's module passes a float32 tensor.
/// `ours`: ops of the backward itself, which are no stores of the forward.
void saved_values_load(Differentiation *state, const Map *ours);
/// Whether each program finds `value` where `store`, of the forward, left it: every launch in the module passes a tensor of float32, or
/// (unless `is_single`) of the type of an input, and nothing else is known to touch it.
bool stored_value_stays(const Differentiation *state, const Op *store, const Value *value,
                        bool is_single);
/// Whether each lane of the forward is computed by itself, and `store` leaves out none that another store of it has (`ours`: as for
/// saved_values_load): what lanes that it leaves out have is seen by nobody.
bool stored_lanes_are_all(const Differentiation *state, const Op *store, const Map *ours);
/// Whether what `store`, of the forward, writes to is new memory in every launch, to which the launcher does nothing more: autograd
/// raises an error where what a backward reads was changed in place.
bool stored_tensor_is_left(const Differentiation *state, const Op *store);
/// Whether what `store`, of the forward, writes to has the element type of an input in every launch.
bool stored_tensor_is_as_small(const Differentiation *state, const Op *store);
/// Whether a float32 value is what a load finds where the program has stored it, behind the parameter `root`: every launch in the module
/// passes a tensor of float32.
bool stored_is_unrounded(const Differentiation *state, const Value *value, const Value *root);

#endif
