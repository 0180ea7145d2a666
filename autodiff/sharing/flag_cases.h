// Inside autodiff/: the backward as it is for each value of the conditions that a launch decides.
//
// `if IS_VARLEN:` around the rows of a program makes an address that nothing is known of: one of two. A launch takes one side for all
// programs, so it is enough that what is asked holds for each side by itself.
#ifndef TAD_AUTODIFF_SHARING_FLAG_CASES_H
#define TAD_AUTODIFF_SHARING_FLAG_CASES_H

#include "analysis/ir/limits.h"
#include "autodiff/sharing/view.h"

typedef struct FlagCases {
    SharingView items[1 << FLAGS_MOST];
    int count;  // 0: no condition of a launch chooses a place
} FlagCases;

/// The cases of the view's function. `upstreams` of each are those of the view.
const FlagCases *flag_cases_new(Arena *arena, const SharingView *view);
/// Whether the two never run in one launch: they are in different sides of a condition that a launch decides.
bool ops_are_of_different_launches(const Op *a, const Op *b);

#endif
