// Branches that choose what is loaded in, masks in their place out.
#ifndef TAD_AUTODIFF_JOINS_BRANCH_LOADS_H
#define TAD_AUTODIFF_JOINS_BRANCH_LOADS_H

#include "analysis/ir/ir.h"

/// `last = load(state) if t == 0 else load(x - 1)`, where `x` is loaded elsewhere, too: both are loaded, each under its side of the
/// condition, and chosen from. So what is read at several places is seen as neighbours, as it is where the author wrote a mask. Only of
/// sides that load tiles of what the kernel does not write, and compute.
void function_open_branch_loads(Function *function);

#endif
