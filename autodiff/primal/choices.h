// Accesses through pointers that branches choose.
#ifndef TAD_AUTODIFF_PRIMAL_CHOICES_H
#define TAD_AUTODIFF_PRIMAL_CHOICES_H

#include "analysis/ir/ir.h"

/// `p = a if c else b; load(p + i)` becomes a branch on `c` that loads from `a + i` or from `b + i`; so do stores and atomics.
/// After it an address starts from one parameter, except where more tensors are chosen from than a reader would want copies of
/// an access: those stay as they are.
void function_open_choices(Function *function);

#endif
