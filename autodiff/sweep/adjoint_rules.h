// Adjoints of single ops: the table's GRAD text through the front end, and the cases that a line of text cannot say.
#ifndef TAD_AUTODIFF_SWEEP_ADJOINT_RULES_H
#define TAD_AUTODIFF_SWEEP_ADJOINT_RULES_H

#include "autodiff/state/differentiation.h"

/// Adjoint statements of one op (loops and branches are the sweep's). `gradients[i]`: adjoint of result i or NULL.
void adjoint_rule(Differentiation *state, const Op *op, Value *const *gradients);

#endif
