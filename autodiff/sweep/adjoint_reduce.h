// Adjoints of reductions and scans, also those with a combine function of the user's own.
#ifndef TAD_AUTODIFF_SWEEP_ADJOINT_REDUCE_H
#define TAD_AUTODIFF_SWEEP_ADJOINT_REDUCE_H

#include "autodiff/sweep/rule_parts.h"

/// Adjoint of tl.max, tl.min (also with indices), tl.reduce, cumprod and tl.associative_scan (adjoint_reduce.c).
void rule_extremum(Differentiation *state, const Op *op, Value *const *gradients);
void rule_reduce(Differentiation *state, const Op *op, Value *const *gradients);
void rule_scan(Differentiation *state, const Op *op, Value *const *gradients);

#endif
