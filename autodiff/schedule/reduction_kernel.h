// The whole backward and the statements that are to move in; out either the kernel that sums what these add, whose programs share the
// owners of the elements and loop over the programs of the forward, or the rest of the backward, or one kernel that does both.
#ifndef TAD_AUTODIFF_SCHEDULE_REDUCTION_KERNEL_H
#define TAD_AUTODIFF_SCHEDULE_REDUCTION_KERNEL_H

#include "autodiff/state/differentiation.h"

/// Makes of the whole backward the part that `state->parts.part` asks for. Fails where there is no such part.
void part_settle(Differentiation *state);

#endif
