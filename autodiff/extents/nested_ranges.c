// From steps and lengths of ranges to whether each steps over all that smaller ones reach.
#include "autodiff/extents/nested_ranges.h"

#include "analysis/addresses/nested_steps.h"
#include "analysis/addresses/strides.h"
#include "autodiff/addresses/place.h"

bool ranges_are_nested(Arena *arena, const ElementRanges *ranges) {
    NestedStep steps[STORED_MOST_DIGITS];
    for (int which = 0; which < 2; which++) {
        for (int i = 0; i < ranges->count; i++)
            steps[i] = (NestedStep){ranges->ranges[i].by, ranges->ranges[i].most[which]};
        if (steps_are_nested(arena, steps, ranges->count, sizes_are_nonnegative)) return true;
    }
    return false;
}
