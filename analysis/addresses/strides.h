// What holds of strides and sizes whatever a launch passes for them.
#ifndef TAD_ANALYSIS_ADDRESSES_STRIDES_H
#define TAD_ANALYSIS_ADDRESSES_STRIDES_H

#include "analysis/ir/ir.h"

/// Whether a stride is 0 on one of the ways that it is made, in the kernel or by a launcher: no dimension of its own.
bool stride_may_vanish(const Poly *weight);
/// Whether two strides may be of one dimension: but for numbers that a caller chooses (`is_chosen`) they are the same.
bool strides_may_meet(Arena *arena, const Poly *a, const Poly *b);
/// True where `poly` >= 0 follows from every size and stride being at least 1, and numbers of programs and iterations at least 0; false for
/// NULL.
bool poly_is_nonnegative(Arena *arena, const Poly *poly);
/// Whether a value is made of the kernel's parameters alone: the same in all programs and iterations.
bool value_is_of_parameters(const Value *value);
/// poly >= 0 for all atoms that are at least 1, with x >= d * (x // d).
bool sizes_are_nonnegative(Arena *arena, const Poly *poly);

#endif
