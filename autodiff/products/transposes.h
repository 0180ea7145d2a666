// Inside autodiff/: types and tiles with their two axes exchanged.
#ifndef TAD_AUTODIFF_PRODUCTS_TRANSPOSES_H
#define TAD_AUTODIFF_PRODUCTS_TRANSPOSES_H

#include "analysis/ir/ir.h"

/// A type of rank 2 with its dims exchanged.
Type type_transposed(Arena *arena, Type type);
/// A tile of rank 2 transposed: of what is a transpose already, that of which it is one.
Value *tile_transposed(Builder *b, Value *tile);
/// Whether an op is a product of two matrices that adds to nothing.
bool op_is_bare_dot(const Op *op);
/// The product that is the transpose of this one: its factors exchanged and transposed.
Value *dot_transposed(Builder *b, const Op *dot);

#endif
