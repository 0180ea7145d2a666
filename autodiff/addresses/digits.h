// Inside autodiff/: addresses made of the digits of one number that counts elements: `offsets // width * stride + offsets % width`.
#ifndef TAD_AUTODIFF_ADDRESSES_DIGITS_H
#define TAD_AUTODIFF_ADDRESSES_DIGITS_H

#include "analysis/addresses/affine.h"

/// Whether no element is touched twice by an access: not by two lanes, two iterations of the loops around it, nor two programs. Its index
/// has to be a sum of digits of one number, that is never below 0 and differs from lane to lane and from program to program. The digits
/// have to be all of that number's, and each to step over all that the smaller ones reach. Of the quotients and the remainders by sizes of
/// at least 1 the last one may be of any size. A stride that is no part of the divisors is a dimension of its own, as in access_axes.
/// False where it is not known.
bool digits_are_private(Arena *arena, const FunctionAxes *around, Op *access);
/// The same for two accesses together, of equal digits and at a fixed distance: no element is touched by both, or twice by one of them.
bool digits_are_apart(Arena *arena, const FunctionAxes *around, Op *a, Op *b);

/// One digit of such an index: how many it may be (NULL: as many as there are), and what one of it moves the address by.
typedef struct DigitStep {
    const Poly *extent;
    const Poly *weight;
} DigitStep;

/// The digits of an access's index, the smallest first, up to `capacity` of them, and what is added to them. Their number; -1 where the
/// index is no sum of digits of one number.
int digits_steps(Arena *arena, Op *access, DigitStep *steps, int capacity, const Poly **base);

#endif
