// Globals of a module that a kernel reads: their values, and whether Triton lets it read them; named tuples.
#ifndef TAD_ANALYSIS_EXPRESSIONS_LOWER_GLOBAL_H
#define TAD_ANALYSIS_EXPRESSIONS_LOWER_GLOBAL_H

#include "analysis/frames/lowering.h"

/// The value of a global of a module: a constant, or a constexpr of which nothing is known.
Value *global_value(Lowering *lowering, ScopeEntry entry, Str name, SyntaxNode node);
/// What `Point(x, y)` makes when `entry` is a class of named tuples: a tuple with names; NULL when it is none.
Value *lower_named_tuple(Lowering *lowering, ScopeEntry entry, Arguments *arguments);
/// The item of a named tuple, or NULL.
Value *named_item(const Value *tuple, Str name);

#endif
