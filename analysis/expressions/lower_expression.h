// Expressions: names, operators, comparisons, tuples and comprehensions. Never gives NULL.
#ifndef TAD_ANALYSIS_EXPRESSIONS_LOWER_EXPRESSION_H
#define TAD_ANALYSIS_EXPRESSIONS_LOWER_EXPRESSION_H

#include "analysis/frames/lowering.h"

Value *lower_value(Lowering *lowering, SyntaxNode node);
Entity lower_entity(Lowering *lowering, SyntaxNode node);
Value *entity_value(Lowering *lowering, Entity entity, SyntaxNode node);
/// The items that a `for` or a comprehension runs over when they are known: a tuple, range(), zip(), enumerate(). False otherwise.
bool lower_iterable(Lowering *lowering, SyntaxNode node, Value ***items, int *count);

#endif
