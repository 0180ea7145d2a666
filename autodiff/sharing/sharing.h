// Inside autodiff/: whether programs or iterations share the elements that statements add to: of one statement, and of two together.
#ifndef TAD_AUTODIFF_SHARING_SHARING_H
#define TAD_AUTODIFF_SHARING_SHARING_H

#include "autodiff/sharing/view.h"
#include "autodiff/state/differentiation.h"

typedef struct GradientSharing {
    bool is_private;     // no other program touches its elements, and no other iteration
    bool is_of_program;  // no other program does, and iterations touch the same or their own
    bool is_by_flags;    // for each value of the flags of a launch by itself (flag_cases.h)
    const Op *told_by
        [1
         << FLAGS_MOST];  // in each of these cases: what takes the upstream gradient of a store that tells which program has what; or NULL
    const struct SegmentRows
        *segments[1 << FLAGS_MOST];  // likewise: which rows of segments programs have; or NULL
    const char *why;
} GradientSharing;

/// How two statements that are private each are private together.
typedef enum Pair {
    PAIR_SHARED,   // other programs or iterations of the one meet the other
    PAIR_APART,    // they never meet
    PAIR_ORDERED,  // they meet in one program, the one after the other
} Pair;

/// The backward for each value of the flags of a launch, made when it is asked for first.
const struct FlagCases *sharing_cases(Differentiation *state);
/// While `versions.places` and `versions.axes` are those of the backward.
GradientSharing statement_sharing(Differentiation *state, const Accumulation *statement);
bool sharing_is_told(const GradientSharing *sharing);
/// What takes the upstream gradient of a store of the forward that tells which program has what the statement touches, where programs
/// along some axes share that (`alike`, which is filled in) and memory or a flag decides about others; or NULL.
const Op *told_but_for_alike(Differentiation *state, const Accumulation *statement,
                             AlikePrograms *alike);
/// Whether programs that differ by a digit of their ids alone do the same in the view, and store the same: nothing reads that digit.
bool programs_are_copies(const Differentiation *state, const SharingView *view, const Axis *axis);
/// Says what is assumed of the stores that tell which program has what the statement touches.
void assume_told(Differentiation *state, const Accumulation *statement);
/// Says it of the store whose upstream gradient that takes.
void assume_told_by(Differentiation *state, const Accumulation *statement, const Op *upstream);
/// Says what is assumed of offsets, and of lists of blocks, that tell which program has what the statement touches.
void assume_segments(Differentiation *state, const Accumulation *statement,
                     const struct SegmentRows *segments);
/// Whether a store of the forward tells apart which program has what of both, so that they meet in one program alone.
bool are_told_together(Differentiation *state, const Accumulation *a, const Accumulation *b);
/// `by_program`: whether iterations of one program may meet at places that are equal. `told_by`: set to what takes the upstream gradient of a store that
/// this rests on, beside those of each statement.
Pair pair_of(Differentiation *state, const Accumulation *a, const Accumulation *b, bool by_program,
             const Op **told_by);

#endif
