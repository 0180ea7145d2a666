// Inside autodiff/digits/: an address as a sum of digits of one number, each times a number of the launch.
#ifndef TAD_AUTODIFF_DIGITS_DIGIT_SUM_H
#define TAD_AUTODIFF_DIGITS_DIGIT_SUM_H

#include "autodiff/digits/digit_places.h"

enum { DIGIT_MOST_LOOPS = 3 };  // around an access, whose variables are digits, too

typedef struct DigitSum {
    DigitFinder search;
    Arena *arena;
    int steps;  // taken so far
    Value *parameter;
    Value *number;  // whose digits they are
    FlatDigit digits[ADDRESS_MOST_DIGITS];
    int count;
    const Poly *base;
    Value *variables[DIGIT_MOST_LOOPS];  // of loops
    DigitRange loops[DIGIT_MOST_LOOPS];
    int loop_count;
} DigitSum;

/// The address of an access. `may_repeat`: as digits_read_steps has it. False where it is no such sum.
bool digit_sum_find(Arena *arena, Op *access, bool may_repeat, DigitSum *sum);
/// Adds a value, times a number of the launch, to the digits of `sum->number`. False where it is not made of these.
bool digit_sum_add(DigitSum *sum, Value *value, const Poly *weight);

#endif
