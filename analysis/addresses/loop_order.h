// Addresses of a loop that goes backwards, as of one that goes forwards.
#ifndef TAD_ANALYSIS_ADDRESSES_LOOP_ORDER_H
#define TAD_ANALYSIS_ADDRESSES_LOOP_ORDER_H

#include "analysis/addresses/affine.h"

/// A number in iterations that are counted from the first one of the forward's loop, where it is made of how many there are and of those
/// that have run already: `start + (count - 1 - back) * step`. The loop's variable then stands for the other number of each iteration; all
/// iterations of a program together are the same. Any other number as it is.
const Poly *poly_in_order(Former *former, const Poly *number, const Op *loop);

#endif
