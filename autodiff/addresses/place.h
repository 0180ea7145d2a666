// Inside autodiff/: whether the elements that accesses touch are the same, apart, or each touched once.
#ifndef TAD_AUTODIFF_ADDRESSES_PLACE_H
#define TAD_AUTODIFF_ADDRESSES_PLACE_H

#include "analysis/addresses/affine.h"

/// Addresses in elements: from `start` to below `start + reach`.
typedef struct Span {
    const Poly *start;
    const Poly *reach;  // NULL: not known
} Span;

/// An access with what follows from it alone, for who compares it with many others.
typedef struct AccessPlace {
    Access access;
    Span lanes
        [TYPE_MAX_RANK];  // along each dimension, up to the bound that the mask sets, where it sets one
    Span whole[2];        // all of it: by the tile's size, and by the mask's bounds
} AccessPlace;

AccessPlace place_of_access(Arena *arena, Op *op);
/// The same of an access that is understood already.
AccessPlace place_from(Arena *arena, const Access *access);

/// The places of accesses, each computed once, and again where its address was replaced since.
typedef struct Places {
    Arena *arena;
    Map known;
} Places;

Places places_new(Arena *arena);
const AccessPlace *places_find(Places *places, Op *op);

/// places_are_equal, of two that are known.
bool place_equals(const AccessPlace *a, const AccessPlace *b);
/// places_are_apart, of two that are known.
bool place_is_apart(Arena *arena, const AccessPlace *a, const AccessPlace *b);

/// The mask of a load, store or atomic, or NULL where there is none.
Value *access_mask(const Op *op);
/// Whether two accesses of one program touch the same elements, masks aside. False where it is not known.
bool places_are_equal(Arena *arena, Op *a, Op *b);
/// Whether two accesses, in the same program and the same iteration of the loops around them, provably touch no common element.
bool places_are_apart(Arena *arena, Op *a, Op *b);
/// Whether all that two accesses touch lies within `window` consecutive elements, wherever these are.
bool places_fit(Arena *arena, Op *a, Op *b, const Poly *window);
/// Whether what `a` touches in one program and iteration is never what `b` touches in another, of the programs and of the
/// loops around both; with `by_program` in another program. In the same one they may meet (places_are_apart). False where
/// it is not known.
bool places_are_owned_together(Arena *arena, const FunctionAxes *around, Op *a, Op *b,
                               bool by_program);
/// Whether two accesses of one program never touch a common element: in no iterations of the loops around them where `loop` is NULL, else in no
/// two that differ of this loop, which is around both, and there neither does one of them alone. They stand side by side, or one of them in a
/// loop beside the other. False where it is not known.
bool accesses_never_meet(Arena *arena, const FunctionAxes *around, const Access *a, const Access *b,
                         const Op *loop);
/// Whether two accesses that stand side by side touch no common element, in whatever programs and iterations: what is between them are steps
/// along several strides, and the address moves further along each (`x[2 * h + 1, 2 * w]` and `x[2 * h, 2 * w + 1]`), or these and all that the
/// address moves with are digits of one number.
bool places_are_apart_by_strides(Arena *arena, const FunctionAxes *around, Op *a, Op *b);
/// Whether one access is in a loop of known length, and the other one touches what a further iteration would: neither touches what the other one
/// does, in no program.
bool places_are_iterations(Arena *arena, const FunctionAxes *around, Op *a, Op *b);
/// False where two lanes of one access may touch the same element.
bool lanes_are_apart(Arena *arena, Op *op);
/// The same of an access's offset, which is known, in a tile of that type.
bool offset_lanes_are_apart(Arena *arena, Type type, const Access *access);

/// A conjunct `index < bound` of a mask that limits one lane alone; `bound` NULL where there is none.
typedef struct LaneBound {
    const Poly *start;  // the index of lane 0
    const Poly *bound;
} LaneBound;

/// What the mask of an access sets along a dimension of its tile.
LaneBound access_lane_bound(Arena *arena, const Op *access, int lane);

/// Whether elements are numbered in the address by constexprs alone, or by one stride for all: nothing has to be assumed of how long rows
/// are beside their strides.
bool address_needs_no_strides(Arena *arena, Op *op);

#endif
