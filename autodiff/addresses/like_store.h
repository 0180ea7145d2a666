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

/// The stores of the forward whose elements no two programs have, such that programs that touched one element through `op` would have
/// stored to one element there. `stored`: loads of upstream gradients at such places, in `function`. Says nothing of iterations of one
/// program. `alike`: axes of the grid whose programs are taken for one, as neither address, mask nor branches of `op` differ along them;
/// NULL: none is.
LikeStores like_stores_find(Arena *arena, const Function *function, const Map *stored, Op *op,
                            const bool *alike);
/// One of each that are to one tensor, with the same weight and shift: programs that met through either access would have met there.
/// NULL where there are none.
const LikeStore *like_stores_of_both(const LikeStores *a, const LikeStores *b);

#endif
