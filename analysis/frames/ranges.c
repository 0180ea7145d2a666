// The integers of a `range` whose bounds are known.
#include "analysis/frames/ranges.h"

uint64_t range_count(int64_t first, int64_t end, int64_t step) {
    bool is_empty = step == 0 || (step > 0 ? first >= end : first <= end);
    if (is_empty) return 0;
    uint64_t distance =
        step > 0 ? (uint64_t)end - (uint64_t)first : (uint64_t)first - (uint64_t)end;
    uint64_t stride = step > 0 ? (uint64_t)step : 0 - (uint64_t)step;
    return distance / stride + (distance % stride != 0);
}

int64_t range_item(int64_t first, int64_t step, uint64_t index) {
    return (int64_t)((uint64_t)first + index * (uint64_t)step);
}
