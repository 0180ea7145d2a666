// Steps of an address that numbers show to be digits of one number.
#ifndef TAD_ANALYSIS_ADDRESSES_NESTED_STEPS_H
#define TAD_ANALYSIS_ADDRESSES_NESTED_STEPS_H

#include "analysis/ir/ir.h"

enum { NESTED_MOST_STEPS = 16 };

/// `by * i` for i from 0 to below `count`; NULL: nobody knows how many.
typedef struct NestedStep {
    const Poly *by, *count;
} NestedStep;

/// Whether a polynomial is never negative, of sizes of at least 1; false where it is not known.
typedef bool NonnegativeTest(Arena *arena, const Poly *poly);

/// Whether no two sums of one of each are the same: in some order each steps over what those before reach. False of more than
/// NESTED_MOST_STEPS.
bool steps_are_nested(Arena *arena, const NestedStep *steps, int count,
                      NonnegativeTest *is_nonnegative);

#endif
