// Which tensors a kernel reads or writes at places that memory decides, or who calls its launcher.
#ifndef TAD_AUTODIFF_PLAN_INDEXED_H
#define TAD_AUTODIFF_PLAN_INDEXED_H

#include "analysis/ir/ir.h"

/// Marks, per parameter, pointers with an access whose address takes a number from memory, or whose lanes or iterations end where
/// one says: an index, an offset, a length (`by_memory`); and others with one that takes a number which a launcher's caller chooses.
/// Nothing in the kernel shows that such a place lies within the tensor. What is not understood counts as read. Descriptors that a
/// launcher makes are left out: they end with their tensor.
void indexed_find(Arena *arena, const Function *forward, bool *by_memory, bool *by_callers);

#endif
