// Rows that a store of the forward tells apart: programs that share a row of one tensor would share it in the output, too.
#ifndef TAD_AUTODIFF_ADDRESSES_TOLD_H
#define TAD_AUTODIFF_ADDRESSES_TOLD_H

#include "analysis/addresses/affine.h"

/// A load of an upstream gradient, at the place of a store of the forward whose elements no two programs have, such that programs that
/// touched one element through `op` would have stored to one element there. NULL where none is found. `stored`: such loads.
/// Says nothing of iterations of one program. `alike`: programs that are taken for one; NULL: none are.
const Op *told_by_store(Arena *arena, const Function *function, const Map *stored, Op *op,
                        const AlikePrograms *alike);
/// All stores that tell which rows an access has, and how. In `arena`; for as long as the access and the stores are not changed.
typedef struct Tellings Tellings;
Tellings *tellings_find(Arena *arena, const Function *function, const Map *stored, Op *op);
/// The same of two accesses to one tensor: one store tells the row of either alike, so that no program has by one what another has by the
/// other.
const Op *told_together_by_store(const Tellings *a, const Tellings *b);

#endif
