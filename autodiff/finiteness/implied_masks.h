// Inside autodiff/: parts of masks that the other parts say already.
#ifndef TAD_AUTODIFF_FINITENESS_IMPLIED_MASKS_H
#define TAD_AUTODIFF_FINITENESS_IMPLIED_MASKS_H

#include "autodiff/state/differentiation.h"

/// Leaves out of the masks of stores what follows from the rest: a part that is there twice, `c < a + b` beside `c < a`, `~(c < a)` beside
/// `c >= a`. A compiler that sees one bound of a row less may store more elements at once. Sizes count as positive where launches say so.
/// What is stored is not masked by hand where the mask does it: `where(c < a, x, 0)` under `c < a` is `x`.
void masks_leave_out_implied(Differentiation *state);

#endif
