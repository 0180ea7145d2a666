// Python's own functions, and functions of other modules on constants (math.log2, triton.cdiv).
#ifndef TAD_ANALYSIS_CALLS_LOWER_BUILTIN_H
#define TAD_ANALYSIS_CALLS_LOWER_BUILTIN_H

#include "analysis/frames/lowering.h"

Value *lower_builtin(Lowering *lowering, Str name, Arguments *arguments, SyntaxNode node);
/// `math.log2(x)`, `triton.cdiv(a, b)`, ... of constants; NULL where it is none of them.
Value *lower_external_call(Lowering *lowering, Str dotted, Arguments *arguments, SyntaxNode node);

#endif
