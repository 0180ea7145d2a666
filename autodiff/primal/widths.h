// Inside autodiff/: one backward for pointers to half, float and double.
#ifndef TAD_AUTODIFF_PRIMAL_WIDTHS_H
#define TAD_AUTODIFF_PRIMAL_WIDTHS_H

#include "autodiff/state/differentiation.h"

/// Fills `doubles`: which pointers of the forward, as it was written, may be to float64 together.
void widths_note(Differentiation *state);
/// Casts to float32 where the backward would not compile with such pointers: where control flow, a product or a scan wants one
/// type of several. Drops casts to float32 that change nothing. The last of the rewrites.
void widths_settle(Differentiation *state);

/// Gives a pointer parameter of which no launch says the element type, and of which every use is a cast to pointers to one float
/// type, that type. Leaves out the casts. Where no launch passes a tensor it may be a number, and stays.
void pointer_types_settle(Differentiation *state);
/// The backward is for tensors of these types alone: it does not compile for others.
void pointer_types_assert(Differentiation *state);

#endif
