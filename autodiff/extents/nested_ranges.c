// From steps and lengths of ranges to whether each steps over all that smaller ones reach.
#include "autodiff/extents/nested_ranges.h"

#include "autodiff/addresses/place.h"

/// Rows from the last one on are those from the first one on.
static const Poly *step_onwards(Arena *arena, const Poly *step) {
    for (int t = 0; t < step->count; t++)
        if (step->terms[t].coefficient > 0) return step;
    return poly_multiply(arena, step, poly_constant(arena, -1));
}

/// `which` of the numbers that a length is not above; `left`: a bit for each range that is not in order yet.
static bool is_proved(Arena *arena, const ElementRanges *ranges, int which, unsigned left,
                      const Poly *reach) {
    const Poly *one = poly_constant(arena, 1);
    for (int i = 0; i < ranges->count; i++) {
        const RangeText *range = &ranges->ranges[i];
        if (!(left >> i & 1)) continue;
        const Poly *by = step_onwards(arena, range->by);
        const Poly *gap = poly_subtract(arena, poly_subtract(arena, by, reach), one);
        if (!sizes_are_nonnegative(arena, gap)) continue;
        unsigned others = left & ~(1U << i);
        if (!others) return true;
        if (!range->most[which]) continue;
        const Poly *steps = poly_subtract(arena, range->most[which], one);
        const Poly *more = poly_multiply(arena, by, steps);
        if (more && is_proved(arena, ranges, which, others, poly_add(arena, reach, more)))
            return true;
    }
    return false;
}

bool ranges_are_nested(Arena *arena, const ElementRanges *ranges) {
    const Poly *none = poly_constant(arena, 0);
    unsigned all = (1U << ranges->count) - 1;
    for (int which = 0; which < 2; which++)
        if (!all || is_proved(arena, ranges, which, all, none)) return true;
    return false;
}
