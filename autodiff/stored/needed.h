// Inside autodiff/: what the statements of a backward are computed from, once the forward's own stores are gone.
#ifndef TAD_AUTODIFF_STORED_NEEDED_H
#define TAD_AUTODIFF_STORED_NEEDED_H

#include "autodiff/state/differentiation.h"

typedef struct Needed {
    Map values;      // value -> itself
    int tile_loads;  // loads among them that are of tiles
} Needed;

/// Whether a store is one of the forward's own, and removed later: `ours` as for saved_values_load.
bool store_is_of_forward(const Op *op, const Map *ours);
/// All of these.
OpList stores_of_forward(const Differentiation *state, const Map *ours);
/// All values that statements of the backward itself need, with those in `stops` (may be NULL) taken for known.
Needed values_needed(const Differentiation *state, const Map *ours, const Map *stops);

#endif
