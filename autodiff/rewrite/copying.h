// Inside autodiff/: expressions of a function, made again in another place of it.
#ifndef TAD_AUTODIFF_REWRITE_COPYING_H
#define TAD_AUTODIFF_REWRITE_COPYING_H

#include "analysis/ir/ir.h"

/// Calls `visit` for each value from outside that an op and what is in its regions use; false as soon as that is.
bool op_walk_captured(const Op *op, bool (*visit)(void *context, Value *value), void *context);
/// What builders share wherever they are (analysis/build/build.h): it stays at the start of the kernel.
bool op_stays_at_start(const Op *op);
/// The same expression at the builder's place, in terms of `values`, where its parts are noted. NULL of NULL, and where it is made of
/// more than operations without effects and loads of memory that nothing writes to.
Value *value_copied(Builder *b, Value *value, Map *values);
/// The same at the builder's place, which is behind `place` or in it: values that can be read in front of that stay what they are.
Value *value_copied_behind(Builder *b, Value *value, Map *values, const Op *place);
/// A number at the builder's place; NULL likewise.
Value *poly_copied(Builder *b, const Poly *poly, Map *values);
/// Whether the value can be read in front of the operation.
bool value_is_before(const Value *value, const Op *place);
/// Whether it can, or is made of such values by pure operations, a few at most.
bool value_can_be_brought(const Value *value, const Op *place);
/// The same value in front of the operation: itself, or a copy. It has to be one that can be brought.
Value *value_brought(Function *function, Value *value, Op *place);
/// Whether an element of the result is made of the operands' elements at its place.
bool op_is_by_element(const Op *op);

#endif
