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
/// A number at the builder's place; NULL likewise.
Value *poly_copied(Builder *b, const Poly *poly, Map *values);
/// Whether an element of the result is made of the operands' elements at its place.
bool op_is_by_element(const Op *op);

#endif
