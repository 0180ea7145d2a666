// From the address and the mask of a store to whether two of its lanes may write to one element.
//
// An affine address is seen by its weights. Of any other one each operation is asked whether it maps different lanes to
// different numbers: `x // c` and `x % c` together do, `minimum(x, n - 1)` does where the mask keeps x below n.
#ifndef TAD_AUTODIFF_PROGRAMS_STORE_LANES_H
#define TAD_AUTODIFF_PROGRAMS_STORE_LANES_H

#include "autodiff/programs/stores.h"

/// Whether two lanes of a store may write to the same element. Strides that are symbols count as distinct dimensions.
LaneMeeting store_lanes(Arena *arena, Op *store);

#endif
