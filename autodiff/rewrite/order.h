// Inside autodiff/: which of two ops comes first in a program.
#ifndef TAD_AUTODIFF_REWRITE_ORDER_H
#define TAD_AUTODIFF_REWRITE_ORDER_H

#include "analysis/ir/ir.h"

/// Whether `a` comes before `b` in the same region, which is numbered for it where it has changed.
bool op_precedes(const Op *a, const Op *b);
/// Whether two branches of one branch hold the two ops.
bool ops_are_exclusive(const Op *a, const Op *b);
/// The ancestors of two ops (or the ops themselves) in the innermost region that holds both; NULL where none does.
void ops_common_level(Op *a, Op *b, Op **in_a, Op **in_b);

#endif
