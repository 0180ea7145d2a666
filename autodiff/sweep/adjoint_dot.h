// Adjoint of tl.dot: two products of its own; where one would sum over fewer terms than Triton's product takes, a plain sum.
#ifndef TAD_AUTODIFF_SWEEP_ADJOINT_DOT_H
#define TAD_AUTODIFF_SWEEP_ADJOINT_DOT_H

#include "autodiff/sweep/rule_parts.h"

/// Adjoint of tl.dot (adjoint_dot.c).
void rule_dot(Differentiation *state, const Op *op, Value *gradient);

#endif
