// Operations that the table defines by others (EXPANDS), called.
#ifndef TAD_ANALYSIS_CALLS_LOWER_EXPANSION_H
#define TAD_ANALYSIS_CALLS_LOWER_EXPANSION_H

#include "analysis/frames/lowering.h"

Value *lower_expansion(Lowering *lowering, OpCode code, Arguments *arguments, SyntaxNode node);

#endif
