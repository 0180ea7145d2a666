// Inside autodiff/: what has to hold for an access to touch an element, as sums of its lanes.
#ifndef TAD_AUTODIFF_ADDRESSES_LIMITS_H
#define TAD_AUTODIFF_ADDRESSES_LIMITS_H

#include "analysis/addresses/affine.h"
#include "base/list.h"

/// `base + sum lane[k] * i_k >= 1`, by the lanes of the access.
typedef struct Limit {
    const Poly *base, *lane[TYPE_MAX_RANK];
} Limit;
typedef LIST(Limit) Limits;

/// Lists the comparisons that all have to hold for the access's mask. False where one of its parts is none.
bool limits_of_mask(Arena *arena, const Access *access, Limits *limits);
/// The same of any condition; `axes`: the lane of the access that each of its axes is.
bool limits_of_condition(Arena *arena, const Value *condition, const int *axes, Limits *limits);
/// Lists those that hold where the operation is reached, by the branches whose condition is false there: what an early return leaves.
void limits_of_else_branches(Arena *arena, const Op *op, Limits *limits);
/// Whether a mask ends the lanes along each axis of the tile, and not that of a whole table alone.
bool lanes_are_bounded(Arena *arena, Op *op);
/// Whether the number is at least 1 where each of the launch's sizes is.
bool poly_is_size(Arena *arena, const Poly *poly);
/// Whether the loop runs at least once where each of the launch's sizes is at least 1.
bool loop_has_iteration(Arena *arena, const Op *loop);
/// Whether an operation stands in a branch on the same condition as that of the region, on the same side.
bool op_is_in_like_branch(const Op *op, const Region *branch);

#endif
