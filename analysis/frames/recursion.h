// Python is a circle: an expression holds calls, a call inlines a body, a body holds expressions. What a room asks of those
// above it is declared here, and defined there.
#ifndef TAD_ANALYSIS_FRAMES_RECURSION_H
#define TAD_ANALYSIS_FRAMES_RECURSION_H

#include "analysis/frames/lowering.h"

/// A call: arguments, operations of the table, methods, jit functions inlined. In calls/.
Value *lower_call(Lowering *lowering, SyntaxNode node);
/// An assignment to a target of any kind. In statements/.
void lower_assign(Lowering *lowering, SyntaxNode target, Value *value);
/// The statements of a block. In statements/.
Outcome lower_block(Lowering *lowering, SyntaxNode block);
/// Statements, and those after the blocks around them. In statements/.
Outcome lower_rest(Lowering *lowering, const Rest *rest);

#endif
