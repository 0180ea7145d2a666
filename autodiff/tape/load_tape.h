// Inside autodiff/: what a load of the forward sees, where the kernel overwrites it later, saved in memory for the way back.
#ifndef TAD_AUTODIFF_TAPE_LOAD_TAPE_H
#define TAD_AUTODIFF_TAPE_LOAD_TAPE_H

#include "autodiff/state/differentiation.h"

/// Plans to keep what `load` sees. False where it cannot be: nobody knows its shape or how often it happens.
bool load_keep(Differentiation *state, Op *load, const char *name);
/// Once the backward has gone through the forward, and through nothing else: there the loads read the copy of their buffer in which
/// its stores are repeated, and fill their tapes.
void loads_fill(Differentiation *state);
/// The load of the primal whose place a gradient belongs to: `load`, or what stands on its tape.
const Op *load_saved(const Differentiation *state, const Op *load);
/// Whether a pointer parameter of the primal is such a tape.
bool is_load_tape(const Differentiation *state, const Value *root);

#endif
