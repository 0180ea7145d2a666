// Operators and comparisons.
#ifndef TAD_ANALYSIS_EXPRESSIONS_LOWER_OPERATOR_H
#define TAD_ANALYSIS_EXPRESSIONS_LOWER_OPERATOR_H

#include "analysis/frames/lowering.h"

/// What the name of a number is in an operator `beside` another operand; anything else as it is.
Value *lower_named_number(Lowering *lowering, SyntaxNode node, Value *value, const Value *beside);
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
