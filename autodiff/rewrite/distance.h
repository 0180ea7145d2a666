// How far an address is from what it starts from.
#ifndef TAD_AUTODIFF_REWRITE_DISTANCE_H
#define TAD_AUTODIFF_REWRITE_DISTANCE_H

#include "analysis/ir/ir.h"

/// How far `pointer` is from `root`, in elements, built at the builder's place. NULL where it is not an expression of it.
Value *pointer_distance(Builder *builder, Value *pointer, const Value *root);

#endif
