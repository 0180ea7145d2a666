// The integers of a `range` whose bounds are known.
#ifndef TAD_ANALYSIS_FRAMES_RANGES_H
#define TAD_ANALYSIS_FRAMES_RANGES_H

#include "base/text.h"

/// How many integers range(first, end, step) has, and each of them.
uint64_t range_count(int64_t first, int64_t end, int64_t step);
int64_t range_item(int64_t first, int64_t step, uint64_t index);

#endif
