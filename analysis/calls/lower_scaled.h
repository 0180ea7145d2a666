// What `tl.dot_scaled` is called with, looked at before the call becomes the product that it stands for.
#ifndef TAD_ANALYSIS_CALLS_LOWER_SCALED_H
#define TAD_ANALYSIS_CALLS_LOWER_SCALED_H

#include "analysis/frames/lowering.h"

/// Says what Triton refuses of these values of its parameters, NULL where one is left out. False where nothing is known to be wrong.
bool lower_scaled_is_refused(Lowering *lowering, Value *const *values, SyntaxNode node);
/// The elements that one scale of an operand is for, 16 or 32, by the shapes of both. 0: these do not say.
int64_t lower_scaled_elements(Value *const *values, bool is_right);

#endif
