// Derivatives that are given by hand, looked at where they stand: whether anybody can use them.
#ifndef TAD_ANALYSIS_CHECKS_CHECK_GIVEN_H
#define TAD_ANALYSIS_CHECKS_CHECK_GIVEN_H

#include "analysis/lowering/kernel.h"

/// Reports each rule of the module that cannot be used, at its comment. `kernels`: the module's jit functions, with their IR.
/// What is lowered on the way lies in `scratch`; messages in the sink's arena.
void check_given_rules(Arena *scratch, const Module *module, const Kernel *kernels, int count,
                       Diagnostics *diagnostics);

#endif
