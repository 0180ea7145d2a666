// Of a store whose last tile wraps around (`y + (block * B + lanes) % n`), the lanes whose gradient counts.
//
// Lanes past the end store their element again. Where the forward is no race they store the same value, so one lane of
// each element takes the whole upstream gradient: that below the end.
#ifndef TAD_AUTODIFF_PROGRAMS_STORE_WRAPS_H
#define TAD_AUTODIFF_PROGRAMS_STORE_WRAPS_H

#include "autodiff/programs/stores.h"

/// A condition in front of the store, of as many axes as its address: no index is past its end. NULL where its lanes meet otherwise,
/// or where an index may begin beyond the end (a position that is passed or loaded, as in a ring buffer), so that no lane below it
/// stores the element.
Value *lanes_before_wraps(Differentiation *state, Op *store, const LaneMeeting *lanes);

#endif
