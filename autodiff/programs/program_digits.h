// Inside autodiff/: which digits of a program's id values depend on, where a launch numbers rows and columns by one id.
#ifndef TAD_AUTODIFF_PROGRAMS_PROGRAM_DIGITS_H
#define TAD_AUTODIFF_PROGRAMS_PROGRAM_DIGITS_H

#include "autodiff/state/differentiation.h"

/// `id // low % (high // low)`; all that is above `low` where `high` is NULL. With a `base`, of which its ends may be no
/// divisors, a digit of `id % base`.
typedef struct Digit {
    const Poly *low, *high, *base;
} Digit;

typedef LIST(Digit) Digits;

/// How values depend on the number of the program along one axis.
typedef struct DigitUse {
    bool whole;     // in a way that tells all programs apart, or that was not understood
    Digits digits;  // else by these alone
    Digits cuts;    // where a digit was divided: what is below the cut and what is above, in a row
    Value *number;  // what they are digits of: the id, a loop's variable from it on, a sum with it
    bool is_sum;    // `number` is a sum, of which not every whole number may be one
    bool is_open;   // of a place: which of the programs with the same digits store is not known
    LIST(const Value *) parts;  // variables of loops and other ids that are used besides
} DigitUse;

/// Where and when a store happens: its address, its mask, the branches and loops around it. `stored`: parameters that the
/// kernel stores to, whose contents tell programs apart.
DigitUse digits_of_place(Arena *arena, const Map *stored, const Op *store, int axis);
/// What it stores.
DigitUse digits_of_value(Arena *arena, const Map *stored, const Op *store, int axis);
/// Whether two programs that agree on the digits of `place` agree on those of `value`.
bool digits_determine(Arena *arena, const DigitUse *place, const DigitUse *value);
/// The digits that `use` leaves open, as few as hold them all. False where their order is not known.
bool digits_missing(Arena *arena, const DigitUse *use, Digits *missing);

#endif
