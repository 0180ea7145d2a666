// Inside autodiff/: what a kernel loads and stores through which parameter, and which orders a backward can reverse.
#ifndef TAD_AUTODIFF_MEMORY_H
#define TAD_AUTODIFF_MEMORY_H

#include "autodiff/adjoint.h"

typedef struct Memory {
    Map stored;  // pointer parameters written by stores or atomics -> one such op
    Map loaded;  // pointer parameters read by loads -> one such op
    bool writes;
} Memory;

typedef LIST(Op *) OpList;

Memory memory_of(Arena *arena, const Function *function);
/// Every load, store and atomic through `root`, in program order.
OpList memory_accesses(Arena *arena, const Function *function, const Value *root);
/// Loads of what the kernel itself stores: forwarded from the store, accepted as an update in place, or refused.
void memory_resolve_hazards(Differentiation *state, const Memory *memory);
/// Refuses outputs whose elements several iterations or statements write: only the last one has an upstream gradient.
void memory_refuse_repeated_stores(Differentiation *state, const Memory *memory);
/// After an update in place the old values are gone: refuses a backward that reads them.
void memory_refuse_lost_values(Differentiation *state, const Memory *memory);

#endif
