// Inside autodiff/digits/: what a mask leaves of the digits of an address.
#ifndef TAD_AUTODIFF_DIGITS_DIGIT_LIMITS_H
#define TAD_AUTODIFF_DIGITS_DIGIT_LIMITS_H

#include "autodiff/digits/digit_sum.h"

/// A digit goes from `first` to below `end`, numbers of the launch; NULL: from 0, and as far as there are any.
typedef struct DigitLimit {
    const Poly *first, *end;
} DigitLimit;

typedef struct DigitLimits {
    DigitLimit items[ADDRESS_MOST_PLACES];
    const Poly *end;  // of the number itself; NULL: the mask does not say
    bool is_exact;    // the mask says no more than this
} DigitLimits;

/// What the mask of an access says of the digits that `places` has: a comparison of one of them, or of it and a number of the launch, with
/// another such number (`r >= na` and `r < na + nb` of rows that lie one behind the other).
DigitLimits digit_limits_of(const DigitSum *sum, const DigitPlaces *places, const Op *access);

#endif
