// Inside autodiff/: a gradient of a flat kernel that is stored here and there, in the order of its elements.
#ifndef TAD_AUTODIFF_GATHERS_IN_ORDER_H
#define TAD_AUTODIFF_GATHERS_IN_ORDER_H

#include "autodiff/state/differentiation.h"

/// A kernel may go through the elements of its output by one number, and read its input by the digits of that, in another order: heads before
/// time, the pixels of a channel that are several. Its one gradient is then stored across memory. Where each element of the input has one
/// reader at most, the lanes become those of the gradient, in its order, and the digits, and the number, are computed from theirs: what is
/// read jumps, and what is stored does not. An element that no lane of the forward reads gets 0. Once they are scheduled.
void gradient_store_in_order(Differentiation *state);

/// The same for a statement that adds to elements which several lanes read: each element of a picture that is enlarged, numbers that are
/// repeated, rows that are turned around, pixels around each in loops over taps. A lane of the gradient adds up what the few that read its
/// element would have added. Of a statement that is the only one of its kernel, while statements are scheduled; it is a plain store then.
/// False where it stays.
bool gradient_sum_in_order(Differentiation *state, const Op *statement);

#endif
