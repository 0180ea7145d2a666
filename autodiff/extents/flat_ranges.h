// Inside autodiff/extents/: which elements a flat index stores whose quotients and remainders make up the address.
#ifndef TAD_AUTODIFF_EXTENTS_FLAT_RANGES_H
#define TAD_AUTODIFF_EXTENTS_FLAT_RANGES_H

#include "autodiff/extents/element_ranges.h"

/// The elements that `y + i // width * stride + i % width` certainly stores: `i` numbers the lanes of all programs along one axis of the
/// grid (`program * BLOCK + lane`), as far as the mask `i < n` goes, or without one. Of the top digit only those count whose other
/// digits are all there. False where the address is no sum of such digits, or more than the mask says whether it is stored.
bool flat_ranges(const StoredSearch *coverage, Op *store, ElementRanges *cover);

#endif
