// A call of a helper whose derivative is given by hand: it stays a call.
#ifndef TAD_ANALYSIS_CALLS_LOWER_GIVEN_H
#define TAD_ANALYSIS_CALLS_LOWER_GIVEN_H

#include "analysis/frames/lowering.h"

/// An OP_GIVEN where the lowering keeps such calls and there is a rule for `callee`; else `inlined`, what its body came to. `values`: by
/// the callee's parameters; `first_op`: how many ops the function had before the body. What stands in the way of the rule is the op's note.
Value *lower_given(Lowering *lowering, const FunctionDefinition *callee, Value *const *values,
                   Value *inlined, int first_op, SyntaxNode node);

#endif
