// Inside autodiff/: additions whose address is spread over the lanes of an axis, so that all these lanes add to one element.
#ifndef TAD_AUTODIFF_ATOMICS_SPREAD_LANES_H
#define TAD_AUTODIFF_ATOMICS_SPREAD_LANES_H

#include "analysis/ir/ir.h"

/// The sum along such axes is added once, by a new addition in the place of this one. The same one, where there are none.
Op *spread_lanes_sum(Op *addition, Function *function);

#endif
