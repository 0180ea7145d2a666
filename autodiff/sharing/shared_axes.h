// Inside autodiff/: along which axes programs share what a statement adds to, where flags of a launch or memory choose its place.
#ifndef TAD_AUTODIFF_SHARING_SHARED_AXES_H
#define TAD_AUTODIFF_SHARING_SHARED_AXES_H

#include "autodiff/state/differentiation.h"

/// What the axes around the statement do to its address for each value of the flags by itself (flag_cases.h), which may be none. NULL where
/// under some value nothing is known of one of the ids. While `versions.places` and `versions.axes` are those of the backward.
const FlagAxes *shared_axes_by_flags(Differentiation *state, const Accumulation *statement);
/// Whether what lies behind the lanes of a row is never added to: rows have no stride, or masks end them.
bool statement_ends_rows(Arena *arena, const SharedStatement *shared);
/// Says what `by_flags` of a statement rests on.
void shared_axes_assume(Differentiation *state, const SharedStatement *shared);

#endif
