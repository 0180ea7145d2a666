// Operators and comparisons.
#ifndef TAD_ANALYSIS_EXPRESSIONS_LOWER_OPERATOR_H
#define TAD_ANALYSIS_EXPRESSIONS_LOWER_OPERATOR_H

#include "analysis/frames/lowering.h"

/// What the name of a number is in an operator `beside` another operand; anything else as it is.
Value *lower_named_number(Lowering *lowering, SyntaxNode node, Value *value, const Value *beside);
/// The operator that a method of a tensor stands for: `<<` of `__lshift__`, and of `__rlshift__`, which turns its operands around.
/// NULL of other names.
const char *operator_of_method(Str name, bool *is_reflected);
Value *lower_operator(Lowering *lowering, Str symbol, Value *left, Value *right, SyntaxNode node);
/// `a + b`
Value *lower_binary(Lowering *lowering, SyntaxNode node);
/// `-a`
Value *lower_unary(Lowering *lowering, SyntaxNode node);
Value *lower_not(Lowering *lowering, SyntaxNode node);
/// `a and b`, `a or b`
Value *lower_boolean(Lowering *lowering, SyntaxNode node);
/// `a < b < c`
Value *lower_comparison(Lowering *lowering, SyntaxNode node);

#endif
