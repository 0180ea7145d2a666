// Numbers and strings as Python writes them.
#ifndef TAD_ANALYSIS_EXPRESSIONS_LOWER_LITERAL_H
#define TAD_ANALYSIS_EXPRESSIONS_LOWER_LITERAL_H

#include "analysis/frames/lowering.h"

Value *lower_integer(Lowering *lowering, SyntaxNode node);
Value *lower_float(Lowering *lowering, SyntaxNode node);
Value *lower_string(Lowering *lowering, SyntaxNode node);
bool text_method_exists(Str name);
/// A method of a text that is known: "...".format(...), split, join and the like.
Value *lower_text_method(Lowering *lowering, Str text, Str name, const Arguments *arguments);

#endif
