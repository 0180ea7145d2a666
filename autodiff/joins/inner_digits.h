// Inside autodiff/: numbers that are divided, and whose remainder is divided once more, as one chain of digits.
#ifndef TAD_AUTODIFF_JOINS_INNER_DIGITS_H
#define TAD_AUTODIFF_JOINS_INNER_DIGITS_H

#include "autodiff/state/differentiation.h"

/// Whether a number of the function has `x % ALL // PART`, where ALL and PART are numbers of the launch.
bool function_has_inner_digits(const Function *function);
/// `x // ALL`, `x % ALL` and `x % ALL // PART` (batch, head, and the head of the keys that PART heads share) become digits of `x // PART`,
/// and `x % PART` tells the programs apart that share. ALL has to be a multiple of PART, which the kernel asserts (JoinState).
/// Whether there was one.
bool inner_digits_open(Differentiation *state);

#endif
