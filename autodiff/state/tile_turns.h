// Inside autodiff/: the number of tiles that programs take turns with (primal/shared_tiles.h), for kernels that are made of the backward.
#ifndef TAD_AUTODIFF_STATE_TILE_TURNS_H
#define TAD_AUTODIFF_STATE_TILE_TURNS_H

#include "analysis/build/build.h"
#include "autodiff/state/differentiation.h"

/// How many tiles there are, built in the backward; NULL where it cannot be. Only behind `tiles_deal`.
Value *tiles_count(Differentiation *state, Builder *b);

#endif
