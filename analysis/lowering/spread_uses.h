// Tiles that a merge of branches made wider, and whether what follows sees it.
#ifndef TAD_ANALYSIS_LOWERING_SPREAD_USES_H
#define TAD_ANALYSIS_LOWERING_SPREAD_USES_H

#include "analysis/ir/ir.h"

/// Whether an operation of the function comes to something else where a tile has one lane along an axis than where that lane stands in all
/// of them (SPREAD_NOTE): a sum counts it once or often. What is computed element by element beside a tile of all lanes does not.
bool spread_is_seen(Arena *arena, const Function *function);

#endif
