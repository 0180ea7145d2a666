// Inside autodiff/: what the forward computed and stored is loaded by the backward instead of computed again.
#ifndef TAD_AUTODIFF_TAPE_SAVED_H
#define TAD_AUTODIFF_TAPE_SAVED_H

#include "analysis/module/module.h"
#include "autodiff/state/differentiation.h"

/// After the sweep, before the forward's stores are removed: scalars that the forward reduces from tiles and stores as they
/// are (the mean of a row) become loads from where it stored them, if every launch in the module of `kernel` passes a float32 tensor.
/// `ours`: ops of the backward itself, which are no stores of the forward.
void saved_values_load(Differentiation *state, const FunctionDefinition *kernel, const Map *ours);

#endif
