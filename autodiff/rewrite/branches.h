// Inside autodiff/: fewer branches before a backward is printed.
#ifndef TAD_AUTODIFF_REWRITE_BRANCHES_H
#define TAD_AUTODIFF_REWRITE_BRANCHES_H

#include "analysis/ir/ir.h"

/// Makes one branch of neighbours on the same condition, where the later ones only compute, takes out what both branches compute
/// or load alike, and cleans up.
void function_join_branches(Function *function);

#endif
