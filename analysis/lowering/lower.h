// Syntax of one jit function in, typed tile IR out, helpers inlined.
#ifndef TAD_ANALYSIS_LOWERING_LOWER_H
#define TAD_ANALYSIS_LOWERING_LOWER_H

#include "analysis/frames/options.h"

/// Lowers and infers types in one walk, as Triton's own code generator does; repeated until the kinds of
/// unannotated parameters (pointer, int, float) are stable. Never fails: what is not understood becomes OP_UNKNOWN
/// with one diagnostic. With all constexprs bound, every `if` on them is folded and dims are numbers.
Function *lower_kernel(Arena *arena, const FunctionDefinition *definition,
                       const LowerOptions *options, Diagnostics *diagnostics);

#endif
