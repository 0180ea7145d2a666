// tl.inline_asm_elementwise to operations: straight-line PTX on 32-bit numbers, read into terms and built from those.
#ifndef TAD_ANALYSIS_CALLS_LOWER_ASSEMBLY_H
#define TAD_ANALYSIS_CALLS_LOWER_ASSEMBLY_H

#include "analysis/frames/lowering.h"

/// What tl.inline_asm_elementwise computes, as operations; NULL where it is not understood. `operands` by the row.
Value *lower_assembly(Lowering *lowering, Value *const *operands, int operand_count);

#endif
