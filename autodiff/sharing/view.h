// Inside autodiff/: a function that statements stand in, with what is known of it, while it is asked which programs share their elements.
#ifndef TAD_AUTODIFF_SHARING_VIEW_H
#define TAD_AUTODIFF_SHARING_VIEW_H

#include "analysis/addresses/affine.h"
#include "autodiff/addresses/place.h"

/// The backward, or a copy of it.
typedef struct SharingView {
    const Function *function;
    const FunctionAxes *axes;
    Places *places;
    const Map *
        upstreams;  // loads of the function -> the store of the forward that takes them (StoreState)
    const Map *copies;     // op of the backward -> op of the copy; NULL where it is no copy
    const Map *originals;  // the other way
    bool
        has_copies;  // programs that do the same were taken for one: their sums are not told apart in it
} SharingView;

#endif
