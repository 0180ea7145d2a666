// What a Function asserts of the sizes of a call, in words: a proof covers calls that it takes, and no other.
#ifndef TAD_AUTODIFF_STATE_ASSERTED_H
#define TAD_AUTODIFF_STATE_ASSERTED_H

#include "autodiff/state/result.h"

/// Whether the Function compares these steps at a call, and raises an error where they do not keep elements apart. `has_launches`: of
/// the kernel, in its file.
bool step_check_is_made(const Backward *backward, const StepCheck *check, bool has_launches);
/// `no element of Y is stored twice (in steps of hop and 1)`, of all such steps; NULL: it asks for nothing.
const char *asserted_words(Arena *arena, const Backward *backward);

#endif
