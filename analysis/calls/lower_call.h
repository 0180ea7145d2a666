// Calls: arguments, operations of the table, methods, and jit functions inlined where they are called.
#ifndef TAD_ANALYSIS_CALLS_LOWER_CALL_H
#define TAD_ANALYSIS_CALLS_LOWER_CALL_H

#include "analysis/frames/recursion.h"

Value *lower_entity_call(Lowering *lowering, Entity callee, Arguments *arguments, SyntaxNode node);

#endif
