// Jit functions, inlined where they are called.
#ifndef TAD_ANALYSIS_CALLS_LOWER_INLINE_H
#define TAD_ANALYSIS_CALLS_LOWER_INLINE_H

#include "analysis/frames/lowering.h"

Value *lower_inline(Lowering *lowering, const FunctionDefinition *callee, Arguments *arguments,
                    SyntaxNode node);

#endif
