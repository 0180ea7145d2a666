// Inside autodiff/: maxima of lanes, in whose place that of all lanes does.
#ifndef TAD_AUTODIFF_STORED_LANES_H
#define TAD_AUTODIFF_STORED_LANES_H

#include "autodiff/state/differentiation.h"

/// After the sweep: where a loop carries a maximum and a sum for each lane, and all that leaves the backward is the same for `m + c`
/// and `z * exp(-c)`, with one c for each lane, the maximum of all lanes is as good as that of each. What the backward makes of
/// `exp(x - m)` it makes of `exp(x - max(m))` then. `ours`: as for saved_values_load. Whether anything changed.
bool lanes_share_maximum(Differentiation *state, const Map *ours);

#endif
