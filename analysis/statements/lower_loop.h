// Loops: range() of every kind, loops over tuples, `while`; which variables they carry, and unrolling.
#ifndef TAD_ANALYSIS_STATEMENTS_LOWER_LOOP_H
#define TAD_ANALYSIS_STATEMENTS_LOWER_LOOP_H

#include "analysis/frames/lowering.h"

void lower_for(Lowering *lowering, SyntaxNode node);
void lower_while(Lowering *lowering, SyntaxNode node);

#endif
