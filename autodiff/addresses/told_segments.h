// Inside autodiff/: rows that lie between a start and an end, which a number of the launch tells.
#ifndef TAD_AUTODIFF_ADDRESSES_TOLD_SEGMENTS_H
#define TAD_AUTODIFF_ADDRESSES_TOLD_SEGMENTS_H

#include "analysis/addresses/affine.h"
#include "base/list.h"

/// Programs with another `number`, or with another of `digits`, touch no element of each other through an access.
typedef struct SegmentRows {
    Value *number;  // of the segment: an id, or a digit of one
    Value *
        offsets;  // the parameter where memory says where segments begin: it must not decrease. NULL: each is as long as the others
    LIST(Value *) digits;  // that the address tells beside
} SegmentRows;

/// All such numbers of an access, in whatever program and iteration. Says nothing of iterations of one program.
typedef LIST(SegmentRows) SegmentsOfRows;
SegmentsOfRows segments_of_rows(Arena *arena, const Function *function, Op *op);
/// Whether programs that differ in `id`, the number of a program or a row or column of tiles, differ in the number or the digits.
bool segments_tell(Arena *arena, const SegmentRows *segments, const Value *id);

#endif
