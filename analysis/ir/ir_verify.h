// Our own invariants of the tile IR: links, terminators, counts, and that every operand is defined before it is used.
#ifndef TAD_ANALYSIS_IR_IR_VERIFY_H
#define TAD_ANALYSIS_IR_IR_VERIFY_H

#include "analysis/ir/ir.h"

/// Our own invariants: dominance, terminators, operand counts. NULL when they hold, else what does not.
const char *function_verify(Arena *arena, const Function *function);

#endif
