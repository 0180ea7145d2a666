// Inside autodiff/: numbers and rows that stand beside tiles, to which a factor of the tile can go.
#ifndef TAD_AUTODIFF_PRODUCTS_ROWS_H
#define TAD_AUTODIFF_PRODUCTS_ROWS_H

#include "analysis/ir/ir.h"

/// Whether a float has fewer elements than a tile of this type: a number, or one for each row or column.
bool is_row(const Type *tile, const Value *value);
/// What a row is spread out from.
Value *row_inside(Value *row);
/// `inner`, spread out as the row is.
Value *row_with(Builder *b, const Value *row, Value *inner);
/// The same as float32 where it may be narrower: a factor would be rounded to its type.
Value *row_as_float(Builder *b, Value *value);

#endif
