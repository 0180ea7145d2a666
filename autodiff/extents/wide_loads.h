// Loads under a mask that chooses among the elements of a row in, loads of the whole row out, where a flag says that the tensor has it.
#ifndef TAD_AUTODIFF_EXTENTS_WIDE_LOADS_H
#define TAD_AUTODIFF_EXTENTS_WIDE_LOADS_H

#include "autodiff/rewrite/rewrite.h"
#include "autodiff/state/differentiation.h"

/// Loads of the parameter `input` at the place of the store `store`, a gradient's, under the same mask, and in the same order of
/// operations. The first is the one in front of the others.
void wide_loads_find(Differentiation *state, const Value *input, const Op *store, OpList *found);
/// Gives them the mask `stored`, which can be read in front of them, and what they have for lanes that are not of their own mask: a
/// mask that ends at a number which nobody knows to be a multiple of what a thread reads at once has it read one by one.
void wide_loads_take(Differentiation *state, const OpList *loads, Value *stored);

#endif
