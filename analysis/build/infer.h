// Types of results from types of operands: Triton's own rules, symbolic shapes. Called by build() for each new op.
#ifndef TAD_ANALYSIS_BUILD_INFER_H
#define TAD_ANALYSIS_BUILD_INFER_H

#include "analysis/diagnostics/diagnostic.h"
#include "analysis/ir/ir.h"

/// Sets the types of `op`'s results. A type error (shapes that do not broadcast, dot's inner dimension, a store through a
/// scalar pointer...) goes to `diagnostics` (may be NULL) when it is certain, and the result becomes TYPE_UNKNOWN.
void infer_op(Arena *arena, Op *op, Diagnostics *diagnostics);
/// How many results an op of these operands has (0 for stores and prints). More than one: split, return_indices, tuples.
int infer_result_count(OpCode code, Value *const *operands, int operand_count);

#endif
