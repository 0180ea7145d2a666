// A function of the tile IR as readable text, the `--dump ir` form: one op a line with its type, regions indented.
#ifndef TAD_ANALYSIS_IR_IR_PRINT_H
#define TAD_ANALYSIS_IR_IR_PRINT_H

#include "analysis/ir/ir.h"

/// Readable text, the `--dump ir` form; stable, for golden tests.
const char *function_print(Arena *arena, const Function *function);

#endif
