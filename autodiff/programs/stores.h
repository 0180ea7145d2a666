// Inside autodiff/: stores that meet in one element, whose gradient belongs to one of them.
#ifndef TAD_AUTODIFF_PROGRAMS_STORES_H
#define TAD_AUTODIFF_PROGRAMS_STORES_H

#include "autodiff/state/differentiation.h"

typedef enum Meeting {
    MEETING_NEVER,     // each lane has an element of its own
    MEETING_POSSIBLE,  // that depends on values, or was not understood
    MEETING_CERTAIN    // for some sizes two lanes write to one element
} Meeting;

/// `index % count` in the place of a store.
typedef struct LaneWrap {
    Value *index, *count;
    int axes[TYPE_MAX_RANK + 1];  // of the store's, by the index's, both from 1, from the right
} LaneWrap;

/// What the lanes of one store do to each other.
typedef struct LaneMeeting {
    Meeting meeting;
    const char *why;  // unless MEETING_NEVER: how the lanes may meet, without the store's name
    LaneWrap wraps[TYPE_MAX_RANK];
    int wrap_count;           // not 0: they meet where these wrap
    Meeting besides;          // what they do where none of these wraps
    const char *besides_why;  // unless MEETING_NEVER
} LaneMeeting;

/// Looks at every store that has an upstream gradient. Where several programs store the same value, `owners` says which
/// of them takes its gradient; lanes that certainly meet are refused; what has to be assumed goes to `assumptions`.
void stores_settle(Differentiation *state);

#endif
