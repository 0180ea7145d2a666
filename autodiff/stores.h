// Inside autodiff/: stores that meet in one element, whose gradient belongs to one of them.
#ifndef TAD_AUTODIFF_STORES_H
#define TAD_AUTODIFF_STORES_H

#include "autodiff/adjoint.h"

typedef enum Meeting {
    MEETING_NEVER,     // each lane has an element of its own
    MEETING_POSSIBLE,  // that depends on values, or was not understood
    MEETING_CERTAIN    // for some sizes two lanes write to one element
} Meeting;

/// What the lanes of one store do to each other.
typedef struct LaneMeeting {
    Meeting meeting;
    const char *why;  // unless MEETING_NEVER: how the lanes may meet, without the store's name
} LaneMeeting;

/// Whether two lanes of a store may write to the same element. Strides that are symbols count as distinct dimensions.
LaneMeeting store_lanes(Arena *arena, Op *store);

/// Looks at every store that has an upstream gradient. Where several programs store the same value, `owners` says which
/// of them takes its gradient; lanes that certainly meet are refused; what has to be assumed goes to `assumptions`.
void stores_settle(Differentiation *state);

#endif
