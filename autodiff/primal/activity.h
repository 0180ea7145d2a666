// Which values carry a gradient: float values that depend on an active input, found forwards to a fixed point.
#ifndef TAD_AUTODIFF_PRIMAL_ACTIVITY_H
#define TAD_AUTODIFF_PRIMAL_ACTIVITY_H

#include "autodiff/state/differentiation.h"

/// Marks `active`: what depends on the inputs (keys of `gradients`) through float values.
void activity_mark(Differentiation *state);
bool value_is_active(const Differentiation *state, const Value *value);
/// Whether a value may hold floats, as far as its type says.
bool value_may_be_float(const Value *value);
/// Whether an address whose pointer is chosen among several may be one of an input with a gradient.
bool pointer_may_reach_gradient(const Differentiation *state, const Value *pointer);
/// Finds shift-invariant values: values whose common shift nobody sees (maxima subtracted before an exponential). Fills `constant`.
void shift_invariants_mark(Differentiation *state);
/// Whether carried value `index` of the loop is a rescaled state whose shift-invariant value is in `constant`.
bool shift_invariant_is_settled(const Differentiation *state, const Op *loop,
                                const Carried *carried, int index);

#endif
