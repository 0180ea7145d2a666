// `value.attribute` and `value[subscript]`.
#ifndef TAD_ANALYSIS_EXPRESSIONS_LOWER_ACCESS_H
#define TAD_ANALYSIS_EXPRESSIONS_LOWER_ACCESS_H

#include "analysis/frames/lowering.h"

Entity lower_attribute(Lowering *lowering, SyntaxNode node);
Value *lower_subscript(Lowering *lowering, SyntaxNode node);
OpCode descriptor_method(Lowering *lowering, Str name);
/// The shape of a tile as a tuple; an unknown value where it is not known.
Value *lower_block_shape(Lowering *lowering, Value *tile);
Value *lower_dtype_question(Lowering *lowering, Value *value, Str name);

#endif
