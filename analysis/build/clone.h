// Copies of ops and regions, made at a builder's place.
#ifndef TAD_ANALYSIS_BUILD_CLONE_H
#define TAD_ANALYSIS_BUILD_CLONE_H

#include "analysis/ir/ir.h"

/// The last op it made, or the existing one where the clone is a shared constexpr expression.
Op *op_clone(Builder *builder, const Op *op, Map *values);
/// Copies ops of `from` (terminator excluded) into the builder's place; `values` maps old to new values
/// (Map by pointer) and is extended. Operands not in the map are kept.
void region_clone_into(Builder *builder, const Region *from, Map *values);

#endif
