// Local algebra on the tile IR: each op may be replaced by an operand or by a simpler op of the same type.
#ifndef TAD_AUTODIFF_REWRITE_SIMPLIFY_H
#define TAD_AUTODIFF_REWRITE_SIMPLIFY_H

#include "autodiff/rewrite/algebra.h"
#include "autodiff/rewrite/rewrite.h"

/// Algebra: x + 0, x * 1, 0 * x, trans(trans(x)), casts to the own type, reductions over nothing, constant conditions.
void function_simplify(Function *function);

#endif
