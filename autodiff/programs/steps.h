// Inside autodiff/: steps of addresses that no launch of the file decides: whether rows, frames and tiles lie on each other.
#ifndef TAD_AUTODIFF_PROGRAMS_STEPS_H
#define TAD_AUTODIFF_PROGRAMS_STEPS_H

#include "autodiff/state/differentiation.h"

/// A number that an address steps by may be a tensor's stride, or the hop of frames that overlap. For each tensor that is asked about at
/// the launch, `stores.steps` gets what the Function checks. Where that cannot be said of a kernel without a launch in its file, the
/// numbers count as chosen by a caller (`is_chosen`), and gradients are added up.
void steps_settle(Differentiation *state);

#endif
