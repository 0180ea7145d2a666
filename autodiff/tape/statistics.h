// Inside autodiff/: row statistics of an online loop, from what the forward stored of them.
#ifndef TAD_AUTODIFF_TAPE_STATISTICS_H
#define TAD_AUTODIFF_TAPE_STATISTICS_H

#include "autodiff/state/differentiation.h"

/// After the sweep, before the forward's stores are removed: where a loop of the forward ends with a maximum `m`, a sum `l` and sums
/// over that maximum (online softmax), and all that leaves the backward is the same for `m + c`, `l * exp(-c)` and so on, then
/// `c = log(l)` is as good as 0. With it the sum is 1, the maximum is the log-sum-exp, and `acc` is `acc / l`. Where the forward
/// stored these, in every launch of the module, they are loaded and the loop is not run again. `ours`: as for saved_values_load.
void statistics_load(Differentiation *state, const Map *ours);

/// The same of a maximum that is taken of all lanes, and of a sum of theirs over it: of a row in one block, or of what a loop left for each
/// lane, once `lanes_share_maximum` has made all of it a matter of the largest.
void statistics_of_lanes_load(Differentiation *state, const Map *ours);

#endif
