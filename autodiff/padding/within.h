// Inside autodiff/: what the conditions and loops around a statement say of a whole number.
#ifndef TAD_AUTODIFF_PADDING_WITHIN_H
#define TAD_AUTODIFF_PADDING_WITHIN_H

#include "analysis/ir/ir.h"
#include "analysis/ir/poly.h"

/// Whether `number` is 0 or more wherever `op` adds something: branches around it, or its mask (a number's), compare the same values;
/// or loops around it end where it would be less.
/// False where they do not say so.
bool conditions_say_nonnegative(Arena *arena, const Op *op, const Poly *number);

#endif
