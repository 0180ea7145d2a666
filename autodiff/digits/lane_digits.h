// Inside autodiff/: a lane that an address divides, as one lane for each of its digits.
#ifndef TAD_AUTODIFF_DIGITS_LANE_DIGITS_H
#define TAD_AUTODIFF_DIGITS_LANE_DIGITS_H

#include "analysis/addresses/affine.h"

/// An access with lanes taken apart.
typedef struct LaneDigits {
    Access
        access;  // `op` is a copy beside the function, in the loops of the original, whose operands are not to be looked at
    bool
        is_exact;  // what the mask of the original leaves are all these lanes, but for those that the tile is too short for
    const Poly *ends
        [TYPE_MAX_RANK];  // where the mask ends a dimension, of bounds that may lie within a digit of the top, which then counts as a whole one; else NULL
    const Poly
        *tile[TYPE_MAX_RANK];  // of a dimension that the mask ends: how many lanes the tile has,
    const Poly *low[TYPE_MAX_RANK];  // and how many of them are one digit; else NULL
    Value *counter
        [TYPE_MAX_RANK];  // the program's id or the loop's variable whose blocks are counted through; NULL: each tile for itself
} LaneDigits;

/// The access with lanes `i` whose quotients and remainders its address is made of (`i // (P * P)`, `i // P % P`, `i % P`) taken apart: a
/// tile with a dimension for each digit, as long as there are such digits, the top one up to the bound that the mask sets on the lane.
/// It touches what the access touches, and maybe more. So where no two lanes, iterations or programs meet in it, none do in the access.
/// Lanes have to be `arange` from 0 on, or count through the tiles of programs along one axis (`program * BLOCK + i`), or of a loop from 0 on
/// (`start + i`), that are told apart by nothing else: these are one tile, up to the bound of the mask. `access.offset.known` is false where
/// no lane is divided, its digits leave something of it out, or the launch does not say how many of the top ones there are. Where a bound is a
/// number of its own (`p // W` of `p < HW`), `ends` has it: whoever rests on where rows end has to know that it is a multiple of `low`.
LaneDigits access_by_lane_digits(Arena *arena, Op *access);
/// Whether two accesses of one program, in the same iteration of the loops around them, touch no common element, where the lanes of both are taken
/// apart: the halves of blocks (`i // HALF * 2 * HALF + i % HALF`, and `HALF` behind it). False where it is not known.
bool lane_digits_are_apart(Arena *arena, Op *a, Op *b);
/// accesses_never_meet of two accesses, where the lanes of both are taken apart.
bool lane_digits_never_meet(Arena *arena, const FunctionAxes *around, Op *a, Op *b, const Op *loop);
/// Whether it counts through the tiles of an axis: two of its programs or iterations meet only where two lanes do.
bool lane_digits_count(const LaneDigits *apart, const Axis *axis);

#endif
