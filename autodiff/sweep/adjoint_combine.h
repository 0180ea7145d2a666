// Adjoints of reductions and scans by combine functions of exponentials, and of sums before each element.
#ifndef TAD_AUTODIFF_SWEEP_ADJOINT_COMBINE_H
#define TAD_AUTODIFF_SWEEP_ADJOINT_COMBINE_H

#include "autodiff/sweep/combine.h"

/// adjoint_combine.c: a reduction or a scan of the primal again, over other items.
Op *combine_again(Differentiation *state, const Op *op, Value *items);
/// The adjoints of these. False where the combine function is another.
bool reduce_by_exponentials(Differentiation *state, const Op *op, Value *const *gradients);
bool reduce_by_selection(Differentiation *state, const Op *op, Value *const *gradients);
bool scan_by_exponentials(Differentiation *state, const Op *op, Value *const *gradients, int axis,
                          bool reverse);
/// A running maximum, say, also with its place: what is taken at a lane stays taken until another lane is.
bool scan_by_selection(Differentiation *state, const Op *op, Value *const *gradients, int axis,
                       bool reverse);
bool scan_of_sums_before(Differentiation *state, const Op *op, Value *const *gradients, int axis,
                         bool reverse);

#endif
