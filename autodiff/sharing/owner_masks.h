// Inside autodiff/: of programs that store alike, one takes the upstream gradient. What the others add is 0, and they need not add it.
#ifndef TAD_AUTODIFF_SHARING_OWNER_MASKS_H
#define TAD_AUTODIFF_SHARING_OWNER_MASKS_H

#include "autodiff/state/differentiation.h"

/// Statements whose value is 0 where a program takes no upstream gradient get the condition for that as a part of their mask.
void accumulations_leave_to_owners(Differentiation *state);

#endif
