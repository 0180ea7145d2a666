// Tuples while a kernel is lowered.
#ifndef TAD_ANALYSIS_FRAMES_TUPLES_H
#define TAD_ANALYSIS_FRAMES_TUPLES_H

#include "analysis/frames/lowering.h"

/// No tuple, range or comprehension has more items.
enum { ITERABLE_LIMIT = 4096 };

/// A tuple, or an unknown (said once) where it would have more values in all than any program needs.
Value *tuple_make(Lowering *lowering, Value *const *items, int count, SyntaxNode node);
Value *tuple_item(Lowering *lowering, Value *tuple, int index);
/// Whether the value is a run-time parameter of which no pass has found out yet what it is.
bool value_is_passed(const Value *value);
/// An item of such a parameter, not known in this pass: by its operands, the parameter and the index, the passes learn of a tuple.
Value *passed_item(Lowering *lowering, Value *parameter, Value *index, SyntaxNode node);
/// Notes that the length or all items of such a parameter are asked for, which the items that are read do not tell.
void tuple_asked_whole(Lowering *lowering, Value *value);

#endif
