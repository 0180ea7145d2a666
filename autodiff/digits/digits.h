// Inside autodiff/: addresses made of the digits of one number that counts elements: `offsets // width * stride + offsets % width`.
#ifndef TAD_AUTODIFF_DIGITS_DIGITS_H
#define TAD_AUTODIFF_DIGITS_DIGITS_H

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
    const Poly *
        repeat;  // so many digits that follow each other are one step (`digit // repeat`); NULL: each is one
    const Poly *first,
        *end;  // what the mask of the access leaves of it (digits_by_mask); NULL: the mask says nothing
} DigitStep;

/// The digits of an access's index, the smallest first, up to `capacity` of them, and what is added to them. Their number; -1 where the
/// index is no sum of digits of one number.
int digits_steps(Arena *arena, Op *access, DigitStep *steps, int capacity, const Poly **base);

/// The same, with what the mask leaves of each.
typedef struct DigitsByMask {
    DigitStep steps[ADDRESS_MOST_PLACES];
    int count;  // -1: the index is no sum of digits of one number
    DigitStep loops
        [ADDRESS_MOST_PLACES];  // what is around the access, from inside, but for branches: loops from 0 to numbers of the launch
    int loop_count;  // -1: another loop is around it
    const Poly *base;
    Value *number;
    const Poly *end;  // of the number, by the mask; NULL: it does not say
    bool is_exact;    // the mask leaves out nothing else
} DigitsByMask;

DigitsByMask digits_by_mask(Arena *arena, Op *access);

/// The number that such an index has the digits of, in no loop, and the parameter that it is of; or NULL.
Value *digits_number(Arena *arena, Op *access, Value **parameter);
/// The same as both where several digits may be of one element: a digit may move the address by nothing, by steps of several digits
/// together, or back (a weight below 0); variables of loops are left in the base. -1 where the index is not made of digits so.
int digits_read_steps(Arena *arena, Op *access, DigitStep *steps, int capacity, const Poly **base,
                      Value **number, Value **parameter);
/// Whether a value is a quotient or a remainder of the number, `number // low % extent`; `extent` NULL: as many as there are.
bool digit_read(Arena *arena, Value *value, const Value *number, const Poly **low,
                const Poly **extent);

/// What of a number an index is made of: `number // low % extent`, one element for each, and `number // period` where each period has
/// elements of its own (`batch * C + c` beside `(batch * T + t) * C + c`).
typedef struct OwnDigits {
    Value *number;
    const Poly *low;
    const Poly *extent;  // NULL: as many as there are
    const Poly *period;  // NULL: none
    bool is_plain;       // it is the element's own number
} OwnDigits;

/// Which digits of one number the elements of an access are numbered by, where these follow each other, and there are others: numbers
/// that are equal in them are of one element, and others are not. Several digits have no stride. False where it is not known.
bool digits_own(Arena *arena, Op *access, OwnDigits *own);
/// Whether a value is just these digits within a period.
bool digit_is(Arena *arena, Value *value, const OwnDigits *own);
/// Whether a value is the number of the period.
bool digit_is_period(Arena *arena, Value *value, const OwnDigits *own);

#endif
