// Inside autodiff/: atomics that mostly add 0.
#ifndef TAD_AUTODIFF_ATOMICS_RARE_TERMS_H
#define TAD_AUTODIFF_ATOMICS_RARE_TERMS_H

#include "autodiff/state/differentiation.h"

/// Where an atomic adds something in lanes alone in which two floats are equal, and 0 elsewhere, its mask says so: the largest element of a
/// window has its gradient, and the others are left alone.
void atomics_leave_out_zeros(Differentiation *state);

#endif
