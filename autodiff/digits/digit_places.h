// Inside autodiff/digits/: digits of a number, and the number as digits that do not overlap.
#ifndef TAD_AUTODIFF_DIGITS_DIGIT_PLACES_H
#define TAD_AUTODIFF_DIGITS_DIGIT_PLACES_H

#include "analysis/addresses/affine.h"
#include "analysis/ir/ir.h"

/// `number // low % modulus`, times `weight`.
typedef struct FlatDigit {
    const Poly *low;
    const Poly *modulus;  // NULL: none
    const Poly *weight;
    const Poly
        *repeat;  // divided by this besides, which need not divide the modulus; NULL: by nothing
} FlatDigit;

/// One digit between two of the numbers that the others begin and end at.
typedef struct DigitRange {
    const Poly *low;
    const Poly *extent;  // NULL: as many as there are
    const Poly *weight;
    const Poly *repeat;  // NULL: none
} DigitRange;

typedef struct DigitPlaces {
    DigitRange items[ADDRESS_MOST_PLACES];
    int count;
} DigitPlaces;

/// Who looks for digits: `former` knows the forms of the function's values.
typedef struct DigitFinder {
    Arena *arena;
    Former *former;
    bool may_repeat;  // digits of a remainder may be divided by what does not divide its modulus
} DigitFinder;

/// A number of the launch, the same for all programs, iterations and lanes; NULL for others.
const Poly *digit_fixed_number(const DigitFinder *search, Value *value);
/// What a cast or a broadcast makes of another value.
Value *digit_without_form(Value *value);
/// Whether a tile is a quotient or a remainder.
bool digit_is_divided(const Value *value);
/// Which digit of which number a value is, but for its weight; a value that is not divided is one of itself. False where it is none.
bool digit_find(const DigitFinder *search, Value *value, Value **number, FlatDigit *digit);

/// Puts a boundary among the others, each of which divides the next. False where it does not fit in.
bool digit_places_bound(Arena *arena, DigitPlaces *places, const Poly *low);
/// The number in digits that do not overlap, smallest first, each with what one of it moves the address by; behind those `places` has.
/// False where the digits do not begin and end so, or leave out the smallest.
bool digit_places_add(Arena *arena, const FlatDigit *digits, int count, DigitPlaces *places);

#endif
