// Branches: `if` and conditional expressions, folded when the condition is known, else both branches and what they yield.
#ifndef TAD_ANALYSIS_STATEMENTS_LOWER_CONTROL_H
#define TAD_ANALYSIS_STATEMENTS_LOWER_CONTROL_H

#include "analysis/frames/lowering.h"

/// With `leaves` a return is in it, and the branches take what follows with them.
Outcome lower_if(Lowering *lowering, SyntaxNode node, const Rest *after, bool leaves);

#endif
