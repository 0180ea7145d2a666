// What a lowered kernel does with its parameters, as far as an evaluation of its launches asks.
#ifndef TAD_ANALYSIS_HOST_PARAMETER_USES_H
#define TAD_ANALYSIS_HOST_PARAMETER_USES_H

#include "analysis/host_values/host.h"

/// One for each parameter of the function; none where it is NULL.
KernelUses parameter_uses(Arena *arena, const Function *function);

#endif
