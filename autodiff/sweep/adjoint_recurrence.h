// Adjoints of scans and reductions by any associative combine function whose values do not mix.
#ifndef TAD_AUTODIFF_SWEEP_ADJOINT_RECURRENCE_H
#define TAD_AUTODIFF_SWEEP_ADJOINT_RECURRENCE_H

#include "autodiff/state/differentiation.h"

/// `value` moved along `axis`: lane i sees lane i + by; what comes from outside is 0.
Value *shifted_lanes(Builder *b, Value *value, int axis, int by);
/// The adjoint of a scan y[t] = f(y[t-1], x[t]). False where values with a gradient go into each other.
bool scan_by_recurrence(Differentiation *state, const Op *op, Value *const *gradients, int axis,
                        bool reverse);
/// That of a reduction: the scan's whose last lane alone has a gradient.
bool reduce_by_recurrence(Differentiation *state, const Op *op, Value *const *gradients);

#endif
