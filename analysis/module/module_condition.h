// Conditions at module level (`if hasattr(tl, "gather"):`) to whether they hold: in the release of Triton that the operation
// table describes, with an environment that sets nothing. What Python alone would know stays unknown.
#ifndef TAD_ANALYSIS_MODULE_MODULE_CONDITION_H
#define TAD_ANALYSIS_MODULE_MODULE_CONDITION_H

#include "analysis/module/module_scope.h"

Truth condition_truth(Arena *arena, const Module *module, const ScopeCondition *condition,
                      int depth);

#endif
