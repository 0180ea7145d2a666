// Inside autodiff/: sums of tiles that the forward stored, in place of their terms.
#ifndef TAD_AUTODIFF_STORED_KEPT_SUMS_H
#define TAD_AUTODIFF_STORED_KEPT_SUMS_H

#include "autodiff/state/differentiation.h"

/// After the sweep, before the forward's stores are removed. Where a forward stores a sum or a difference of tiles (what a residual was
/// added to, say), and the backward needs that alone of them, it is loaded in place of what it is made of. It is done where each launch of
/// the module passes new memory of an input's type for it, and where the backward then loads fewer tiles. `ours`: as for saved_values_load.
void kept_sums_load(Differentiation *state, const Map *ours);

#endif
