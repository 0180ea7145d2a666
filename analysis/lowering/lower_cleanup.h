// Takes away what the lowering made to be safe: carried variables that no loop needs, unused results of branches,
// tuples and constants that nothing uses.
#ifndef TAD_ANALYSIS_LOWERING_LOWER_CLEANUP_H
#define TAD_ANALYSIS_LOWERING_LOWER_CLEANUP_H

#include "analysis/ir/ir.h"

void lower_clean(Function *function);

#endif
