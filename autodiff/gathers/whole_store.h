// Inside autodiff/gathers/: two stores of one gradient, of which the launch takes one (fills_choose).
#ifndef TAD_AUTODIFF_GATHERS_WHOLE_STORE_H
#define TAD_AUTODIFF_GATHERS_WHOLE_STORE_H

#include "autodiff/state/differentiation.h"

/// A store that goes through elements which the gradient's own store leaves out, in front of that.
typedef struct WholeStore {
    Op *own, *whole;
    Op *around;  // the loop that `whole` is in, or itself; what is behind it belongs to it, up to `own`
} WholeStore;

/// The one store of a kernel without branches and loops that adds nothing in memory; NULL where there are others.
Op *only_store(const Function *function);

#endif
