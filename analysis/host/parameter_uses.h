// What a lowered kernel does with its parameters, as far as an evaluation of its launches asks.
#ifndef TAD_ANALYSIS_HOST_PARAMETER_USES_H
#define TAD_ANALYSIS_HOST_PARAMETER_USES_H

#include "analysis/host_values/host.h"

/// One for each parameter of the function; none where it is NULL.
KernelUses parameter_uses(Arena *arena, const Function *function);

/// The lengths of tiles that the function writes as numbers: bit `i` for 2 ** i; none where it is NULL.
uint64_t kernel_own_lengths(const Function *function);

#endif
