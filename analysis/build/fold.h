// Constant folding of what Triton computes at compile time.
#ifndef TAD_ANALYSIS_BUILD_FOLD_H
#define TAD_ANALYSIS_BUILD_FOLD_H

#include "analysis/build/infer.h"

/// A constant result where all that matters is constant, else NULL. Pure; Python semantics for constexprs.
const Constant *fold_op(Arena *arena, OpCode code, Value *const *operands, int operand_count);

#endif
