// Inside autodiff/: what the forward divided by a sum of its row, and stored, in place of the row.
#ifndef TAD_AUTODIFF_STORED_NORMALIZED_H
#define TAD_AUTODIFF_STORED_NORMALIZED_H

#include "autodiff/state/differentiation.h"

/// After the sweep, before the forward's stores are removed. Where a forward stores `y = e / t` with `e = exp(x - m)` (or `y = x - m -
/// log(t)`), and all that leaves the backward is the same for `m + c`, `e * exp(-c)` and `t * exp(-c)`, then `c = log(t)` is as good as
/// 0. With it `t` is 1 and `e` is `y`: that is loaded, and neither the maximum nor the sum is computed again. It is done where each
/// launch of the module passes new memory of an input's type for `y`, and where the backward then loads no more than before.
/// `ours`: as for saved_values_load.
void normalized_load(Differentiation *state, const Map *ours);

#endif
