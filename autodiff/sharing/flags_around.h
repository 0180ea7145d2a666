// Inside autodiff/: flags of a launch that keep what programs add from having owners.
#ifndef TAD_AUTODIFF_SHARING_FLAGS_AROUND_H
#define TAD_AUTODIFF_SHARING_FLAGS_AROUND_H

#include "autodiff/state/differentiation.h"

/// Notes the flags that divide the statements of one gradient, or that a loop around one of them stands below: in a kernel for one value of
/// these there is less to settle at once (flag_variants.c).
void flags_around_note(Differentiation *state, const Accumulation *group, int count);

#endif
