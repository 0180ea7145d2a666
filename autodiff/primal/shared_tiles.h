// Inside autodiff/: a kernel whose programs take turns with numbered tiles, as one that has a program for each.
#ifndef TAD_AUTODIFF_PRIMAL_SHARED_TILES_H
#define TAD_AUTODIFF_PRIMAL_SHARED_TILES_H

#include "autodiff/state/differentiation.h"

/// Makes of `for tile in range(tl.program_id(a), tiles, tl.num_programs(a))` around all that the primal does its body alone, in which
/// the id numbers the tile: what is derived then is for as many programs as there are tiles. So it is with the same loop in steps of a
/// block (`range(program * BLOCK, n, programs * BLOCK)`). Fails where the kernel is none of these.
void tiles_deal(Differentiation *state);
/// Puts that loop around all that the backward does.
void tiles_gather(Differentiation *state);

#endif
