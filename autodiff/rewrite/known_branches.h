// Inside autodiff/: what a branch has computed, read in a later branch on the same condition.
#ifndef TAD_AUTODIFF_REWRITE_KNOWN_BRANCHES_H
#define TAD_AUTODIFF_REWRITE_KNOWN_BRANCHES_H

#include "analysis/ir/ir.h"

/// Offsets and pointers that a branch made, and that a branch on the same condition reads, are computed in the latter: there it is
/// known which way they were made.
void function_settle_known_branches(Function *function);

#endif
