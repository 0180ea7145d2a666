// Branches whose two sides end alike in, branches that yield what the common end is made of out.
#ifndef TAD_AUTODIFF_JOINS_MERGED_TAILS_H
#define TAD_AUTODIFF_JOINS_MERGED_TAILS_H

#include "analysis/ir/ir.h"

/// Of `if flag: s = a; p = exp(s - m)`, `else: p = exp(b - m)` within a loop makes `if flag: s = a`, `else: s = b`, and `p = exp(s - m)`
/// behind it: an online softmax that adds a bias under a flag has one exponential then, as the one without a flag has. Bit for bit the
/// same (sinking of common code, as compilers do it: LLVM, SimplifyCFG, SinkCommonCode). A branch gets no more results by it.
/// True where something changed: what nobody reads is left to be dropped.
bool function_merge_tails(Arena *arena, Function *function);

#endif
