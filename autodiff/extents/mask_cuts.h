// Inside autodiff/extents/: what masks and branches leave of an address's digits.
#ifndef TAD_AUTODIFF_EXTENTS_MASK_CUTS_H
#define TAD_AUTODIFF_EXTENTS_MASK_CUTS_H

#include "autodiff/extents/stored_digits.h"

bool cuts_are_equal(const StoredSearch *coverage, const MaskCut *a, const MaskCut *b);
/// What has to be for a store to be come by, as cuts: branches around it, and its mask. False where it is anything else.
bool add_conditions(StoredSearch *coverage, Op *store);
/// With is_most: those that are understood. Lanes that others cut off are `open_lanes`.
bool add_most_conditions(StoredSearch *coverage, const Access *access);
/// Whether a condition asks for the buffer that is stored to: where there is none, there is nothing to fill.
bool asks_for_buffer(const Value *asked, const Op *store);

#endif
