// Ranges of elements that numbers show to lie apart.
#ifndef TAD_AUTODIFF_EXTENTS_NESTED_RANGES_H
#define TAD_AUTODIFF_EXTENTS_NESTED_RANGES_H

#include "autodiff/extents/element_ranges.h"

/// Whether their numbers alone say that no two sums of the ranges are one: in some order each steps over what those before reach.
/// Sizes are taken to be at least 1.
bool ranges_are_nested(Arena *arena, const ElementRanges *ranges);

#endif
