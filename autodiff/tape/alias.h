// Inside autodiff/: what a kernel does where two of its pointers are to one tensor.
#ifndef TAD_AUTODIFF_ALIAS_H
#define TAD_AUTODIFF_ALIAS_H

#include "analysis/ir/ir.h"

/// Whether the derived backward holds also where one tensor is passed for both parameters: each program has read an element
/// through `read` before it is stored through `written`, as elementwise kernels do that work in place. `*condition` is Python
/// over the forward's arguments that has to hold besides (equal strides), or NULL. False where it is not known.
bool alias_reads_first(Arena *arena, const Function *forward, int written, int read,
                       const char **condition);
/// Per parameter the one that is stored through and that all launches pass the same tensor for, where the derivation has to take
/// both for one; -1 elsewhere. NULL: there is none.
int *aliases_join(Arena *arena, const FunctionDefinition *kernel, const Function *forward);
/// Python over the constexprs `known` (per parameter) under which the kernel stores through a parameter; NULL where it
/// stores on each way, or nobody can say.
const char *alias_stored_if(Arena *arena, const Function *forward, int parameter,
                            const bool *known);

#endif
