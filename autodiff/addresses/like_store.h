// Inside autodiff/: elements that a store of the forward tells apart: its address is that of the access, times and plus what a launch
// passes.
#ifndef TAD_AUTODIFF_ADDRESSES_LIKE_STORE_H
#define TAD_AUTODIFF_ADDRESSES_LIKE_STORE_H

#include "analysis/addresses/affine.h"
#include "base/list.h"

/// `stored element = weight * element + shift`, for each element of the access and one of the store.
typedef struct LikeStore {
    const Op *upstream;  // the load of the upstream gradient at the store's place
    const Poly *weight, *shift;
} LikeStore;
typedef LIST(LikeStore) LikeStores;

/// Whether neither address, mask nor branches of `op` differ between programs that are taken for one.
bool access_is_alike(Arena *arena, const Function *function, Op *op, const AlikePrograms *alike);
/// The number in the first of the programs that are taken for one. `alike`: may be NULL. NULL where it cannot be said.
const Poly *poly_in_first_program(Arena *arena, const Poly *poly, const AlikePrograms *alike);

/// The stores of the forward whose elements no two programs have, such that programs that touched one element through `op` would have
/// stored to one element there. `stored`: loads of upstream gradients at such places, in `function`. Says nothing of iterations of one
/// program. `alike`: programs that are taken for one; NULL: none are.
LikeStores like_stores_find(Arena *arena, const Function *function, const Map *stored, Op *op,
                            const AlikePrograms *alike);
/// One of each that are to one tensor, with the same weight and shift: programs that met through either access would have met there.
/// NULL where there are none.
const LikeStore *like_stores_of_both(const LikeStores *a, const LikeStores *b);

#endif
