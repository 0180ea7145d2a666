// Inside autodiff/products/: branches that are made of plain statements.
#ifndef TAD_AUTODIFF_PRODUCTS_BRANCH_H
#define TAD_AUTODIFF_PRODUCTS_BRANCH_H

#include "analysis/ir/ir.h"

/// Moves what stands in front of the branch, and only one side of it reads (0: where the condition holds), into that side.
void branch_take_own(Function *function, Op *branch, int side);

#endif
