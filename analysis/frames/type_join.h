// The type of a value that comes from one of two places.
#ifndef TAD_ANALYSIS_FRAMES_TYPE_JOIN_H
#define TAD_ANALYSIS_FRAMES_TYPE_JOIN_H

#include "analysis/ir/ir.h"

Type type_join(Arena *arena, Type a, Type b);
/// The type a constexpr has once it is a run-time value.
Type type_at_runtime(const Value *value);
/// Joins the types of one more call into those that a helper is known to be called with.
void types_observe(Arena *arena, Type *known, const Type *seen, int count);

#endif
