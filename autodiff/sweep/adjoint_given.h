// The adjoint of a helper whose derivative is given by hand.
#ifndef TAD_AUTODIFF_SWEEP_ADJOINT_GIVEN_H
#define TAD_AUTODIFF_SWEEP_ADJOINT_GIVEN_H

#include "autodiff/sweep/rule_parts.h"

/// Adjoint of an OP_GIVEN: the author's expressions, lowered. Refuses the kernel at the comment where they cannot be.
void rule_given(Differentiation *state, const Op *op, Value *gradient);

#endif
