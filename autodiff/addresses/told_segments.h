// Inside autodiff/: rows that lie between a start and an end, which a number of the launch tells, or in a block of these.
#ifndef TAD_AUTODIFF_ADDRESSES_TOLD_SEGMENTS_H
#define TAD_AUTODIFF_ADDRESSES_TOLD_SEGMENTS_H

#include "analysis/addresses/affine.h"
#include "base/list.h"

/// `numbers[step * program + sequence]` and `numbers[step * program + block]` say of which sequence a program has which block.
typedef struct BlockList {
    Value *
        numbers;  // a parameter of whole numbers; no two programs have the same pair, and no block is below 0
    int64_t step, sequence, block;
} BlockList;

/// Programs with another `number`, or with another of `digits`, touch no element of each other through an access.
typedef struct SegmentRows {
    Value *number;  // of the segment: an id, or a digit of one
    Value *
        offsets;  // the parameter where memory says where segments begin: it must not decrease. NULL: each is as long as the others
    BlockList
        blocks;  // `number` tells a block of a segment by it; without `numbers`: all of a segment
    LIST(Value *) digits;  // that the address tells beside
    int lane;              // of the tile, along which rows follow each other; -1: it has one row
    const Poly *weight, *rest;  // the address is `weight * row + rest`
    const Poly *within;         // of a block: which of its rows the first one is; or NULL
    bool has_parts;             // some of the digits number parts of a block
    const Poly
        *block;  // rows of one, where nobody knows that the launch's parts of it have room; or NULL
} SegmentRows;

/// All such numbers of an access, in whatever program and iteration. Says nothing of iterations of one program.
typedef LIST(SegmentRows) SegmentsOfRows;
SegmentsOfRows segments_of_rows(Arena *arena, const Function *function, Op *op);
/// Whether programs that differ in `id`, the number of a program or a row or column of tiles, differ in the number or the digits.
bool segments_tell(Arena *arena, const SegmentRows *segments, const Value *id);
/// Whether two accesses to one tensor are told by the same numbers alike: no program has by the one what another has by the other.
bool segments_tell_together(Arena *arena, const SegmentRows *a, Op *op_a, const SegmentRows *b,
                            Op *op_b);

#endif
