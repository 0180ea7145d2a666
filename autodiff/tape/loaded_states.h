// Inside autodiff/: states of loops that memory has already, in place of those that a tape would keep.
#ifndef TAD_AUTODIFF_TAPE_LOADED_STATES_H
#define TAD_AUTODIFF_TAPE_LOADED_STATES_H

#include "autodiff/state/differentiation.h"

/// Where an iteration hands on what it loaded, an input's row, or what it stored, unrounded, the way back loads that for the iteration behind it, in
/// place of reading a tape: `where(i > 0, load(i - 1), first)`. Tapes that nobody reads then are gone. Before the forward's stores are removed;
/// `ours`: ops of the backward that are none of these.
void loaded_states_take(Differentiation *state, const Map *ours);

#endif
