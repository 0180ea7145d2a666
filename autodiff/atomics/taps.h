// Inside autodiff/: gradients of a tensor that is read at shifted places, along several axes or in loops over taps.
#ifndef TAD_AUTODIFF_ATOMICS_TAPS_H
#define TAD_AUTODIFF_ATOMICS_TAPS_H

#include "autodiff/state/differentiation.h"

/// Whether no other program, and no other iteration, touches what a statement adds to.
typedef bool TapsCheck(Differentiation *state, const Accumulation *statement);

/// Makes one statement of those of a gradient, in which whoever owns an element adds what each of its readers would have added, and
/// computes it again from what that reader loads: `dx[i] = sum over k of dy[i - k] * w[k]`. The statements that it replaces are still
/// there. NULL where it cannot be made, or would not be private.
Op *taps_gather(Differentiation *state, const Accumulation *group, int count,
                TapsCheck *is_private);

#endif
