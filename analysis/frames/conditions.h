// What is known of conditions where a branch is lowered.
#ifndef TAD_ANALYSIS_FRAMES_CONDITIONS_H
#define TAD_ANALYSIS_FRAMES_CONDITIONS_H

#include "analysis/frames/lowering.h"

/// True and `*result` when the truth of a value is known at compile time.
bool value_truth(const Value *value, bool *result);
/// The same, knowing the conditions of the branches around.
bool condition_known(const Lowering *lowering, const Value *value, bool *result);
/// Certainly a value of the running program in every instance: it comes from memory or from the place in the grid. A
/// plain parameter need not be one: Triton makes a constexpr of an integer 1.
bool value_is_runtime(const Value *value);
/// Adds what follows from `condition` being `truth` to the assumptions, until the branch around ends.
void lowering_assume(Lowering *lowering, const Value *condition, bool truth, bool holds);

#endif
