// Values that are 0, all of them, where a mask leaves nothing.
#ifndef TAD_AUTODIFF_PADDING_VANISHING_H
#define TAD_AUTODIFF_PADDING_VANISHING_H

#include "analysis/ir/ir.h"

/// Whether a condition, not made of others, is false of all that it compares.
typedef bool ConditionFails(void *context, const Value *condition);

/// Whether a value is 0 in the case that is asked about: loads in it leave all out, for `fails` is true of a part of their masks.
/// False where that is not known.
bool value_vanishes(Arena *arena, const Value *value, ConditionFails *fails, void *context);
/// Whether all elements of a value are written as 0, in whatever shape or type.
bool value_is_zero(const Value *value);
/// Whether the mask is a conjunction with such a part.
bool mask_has_part(const Value *mask, ConditionFails *fails, void *context);

#endif
