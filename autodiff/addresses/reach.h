// Inside autodiff/: whether a kernel stays within the tensors that its launches pass.
#ifndef TAD_AUTODIFF_ADDRESSES_REACH_H
#define TAD_AUTODIFF_ADDRESSES_REACH_H

#include "analysis/host/launch.h"

/// Marks, per parameter, pointers to a part of a tensor (`x[1:]`, `x[:, :d]`) from which a launch of the module may have the
/// kernel load something that lies outside of the part. Sizes are those that the launcher's evaluation chose. An address that depends on memory,
/// or that is not understood, is taken to lie within.
void reach_beyond(Arena *arena, const FunctionDefinition *kernel, const Function *forward,
                  bool *beyond);
/// The same of what the kernel stores, or adds to memory. Here an address that is not understood is taken to lead out of the part.
void reach_stores_beyond(Arena *arena, const FunctionDefinition *kernel, const Function *forward,
                         bool *beyond);

#endif
