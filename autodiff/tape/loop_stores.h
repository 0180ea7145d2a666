// Inside autodiff/: what one loop stored and a later one loads, computed again in place of the load.
#ifndef TAD_AUTODIFF_TAPE_LOOP_STORES_H
#define TAD_AUTODIFF_TAPE_LOOP_STORES_H

#include "autodiff/state/differentiation.h"

/// The loop whose iterations store, each at its end, what `load` reads in the same iterations of a later loop over the same range: at the
/// same addresses, under the same mask, and beside the later loop. NULL where it is not so. Whether other stores come between is the
/// caller's to ask.
const Op *loop_of_stored(const Op *load, const Op *store);
/// What that store put there, computed again in front of `load`; of the stored value's type. NULL where it takes more than operations on
/// elements and loads of memory that nobody writes to.
Value *loop_stored_value(Function *function, Op *load, const Op *store);

#endif
