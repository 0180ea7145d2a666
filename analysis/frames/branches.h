// Two branches on a condition that is not known: both are lowered, and their variables merged.
#ifndef TAD_ANALYSIS_FRAMES_BRANCHES_H
#define TAD_ANALYSIS_FRAMES_BRANCHES_H

#include "analysis/frames/lowering.h"

/// What a branch (the first, or the second) comes to.
typedef Value *ChoiceLowerer(Lowering *lowering, void *context, bool is_first);
typedef Outcome BranchLowerer(Lowering *lowering, void *context, bool is_first);

/// What becomes of the statements after the branches.
typedef enum After {
    AFTER_FOLLOWS,  // they follow: the branches' variables are merged
    AFTER_LEAVES,   // they are in the branches, up to the end of the function
    AFTER_SPLITS,   // they are in the branches, up to the end of the block around
} After;

/// OP_IF with both branches lowered. Branches that run to the end of the function hand on what it returns. `only`: 1 the first
/// branch, 0 the second, if the other is one that Triton refuses, else -1.
Outcome lower_branches(Lowering *lowering, Value *condition, BranchLowerer *lower, void *context,
                       After after, int *only);
/// Gives a variable that lost its type where the branches of `branch` met a version for each of them (`version_known`). False where it is
/// not of these branches, or a number of compile time.
bool branches_tell_apart(Lowering *lowering, Op *branch, Str name);
/// The version of a value that the conditions known here choose; the value itself where it has none, or nobody knows.
Value *version_known(const Lowering *lowering, Value *value);
/// One of two values by a condition: an OP_IF, or one branch of it where the condition is known.
Value *lower_choice(Lowering *lowering, Value *condition, ChoiceLowerer *lower, void *context);
/// The condition that decides which of two functions a value is; NULL where it is no such value.
Value *function_choice(const Value *value, Value *functions[2]);

#endif
