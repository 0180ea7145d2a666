// Inside autodiff/: programs of one launch that pass values to each other through memory.
#ifndef TAD_AUTODIFF_PROGRAMS_COMMUNICATION_H
#define TAD_AUTODIFF_PROGRAMS_COMMUNICATION_H

#include "autodiff/state/differentiation.h"

/// Looks at the normalized forward: loops that only another program ends, and loads that certainly meet what other programs
/// of the launch store. What may meet, depending on values, is left to the proof.
void communication_find(Differentiation *state);
/// Refuses a kernel that carries gradients and has such a place.
void communication_refuse(Differentiation *state);

#endif
