// Inside autodiff/: the elements that an access touches, as ranges that a launcher can say.
#ifndef TAD_AUTODIFF_EXTENTS_ELEMENT_RANGES_H
#define TAD_AUTODIFF_EXTENTS_ELEMENT_RANGES_H

#include "autodiff/extents/stored_digits.h"

/// Elements `step * i` for i from 0 to below `length`, in Python; of element_ranges_at_most `length` is NULL where nobody knows it.
typedef struct RangeText {
    const char *step, *length;
    const Poly *by;       // the step
    const Poly *most[2];  // numbers that the length is not above, or NULL
    bool is_of_programs;  // of element_ranges_at_most: program ids alone number them
    bool is_of_both;      // ids and lanes or iterations together
} RangeText;

/// Elements `base` and a sum of one of each range.
typedef struct ElementRanges {
    const Poly *base;
    const char *flags;  // these are touched where they hold: `HAS_BIAS and not GATED`; NULL: always
    RangeText ranges[STORED_MOST_DIGITS];
    int count;
    bool moves_else;  // of element_ranges_at_most: with something from memory
} ElementRanges;

/// A search in a function of `launch`, or in a forward, whose caller passes its arguments.
StoredSearch *stored_search_new(Arena *arena, const Function *function,
                                const BackwardLaunch *launch);
/// False where the text of either is NULL, or there are too many ranges.
bool add_range(ElementRanges *cover, const char *step, const char *length);
/// What a store stores for certain. False where it is not known: a flag, data, a `while` or another form of mask decides.
bool element_ranges(StoredSearch *coverage, Op *store, ElementRanges *cover);
/// What an access touches at most, with `is_most` set: two of its programs, iterations and lanes touch one element only where two
/// sums of these ranges are one. False where that is not known.
bool element_ranges_at_most(StoredSearch *coverage, Op *access, ElementRanges *cover);
/// With `is_most` set: whether lanes that a mask ends by something that is not understood (a length in memory) may, without it, reach
/// to where another program or iteration begins.
bool open_lanes_may_meet(StoredSearch *coverage, Op *access);

#endif
