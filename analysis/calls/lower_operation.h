// Operations of the table and methods, called.
#ifndef TAD_ANALYSIS_CALLS_LOWER_OPERATION_H
#define TAD_ANALYSIS_CALLS_LOWER_OPERATION_H

#include "analysis/frames/lowering.h"

/// A keyword that the operation does not have, with the parameter that may be meant; `missing`: one that got nothing, or empty.
void lowering_report_keyword(Lowering *lowering, OpCode code, const char *callee,
                             const char *keyword, Str missing, SyntaxNode node);
Value *lower_operation(Lowering *lowering, OpCode code, Arguments *arguments, SyntaxNode node);
/// A method of a value, of a text or of an element type.
Value *lower_method(Lowering *lowering, Entity method, Arguments *arguments, SyntaxNode node);

#endif
