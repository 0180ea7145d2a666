// Which kernels a `torch.autograd.Function` launches on its way forward, and which on its way back.
#ifndef TAD_SERVER_RETRIEVAL_PAIRS_H
#define TAD_SERVER_RETRIEVAL_PAIRS_H

#include "analysis/module/module.h"

typedef struct KernelPair {
    const char *name;                              // of the class, or of the operator
    const FunctionDefinition *forward, *backward;  // its methods, or the functions
    LIST(const FunctionDefinition *)
    forwards;  // kernels, each once, in the order in which they are met
    LIST(const FunctionDefinition *)
    backwards;  // kernels of its own; the forward's where it has none
} KernelPair;

typedef struct KernelPairs {
    LIST(KernelPair) list;
} KernelPairs;

/// The Functions of a file (also operators with `register_autograd`) that launch kernels both ways: in their methods, or in functions that these call, of this file or of
/// those that it imports. Names are in `arena`; the definitions belong to their modules.
KernelPairs pairs_find(Arena *arena, const Module *module);

#endif
