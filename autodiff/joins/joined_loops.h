// Inside autodiff/: loops over one range that the author divided, as one.
#ifndef TAD_AUTODIFF_JOINS_JOINED_LOOPS_H
#define TAD_AUTODIFF_JOINS_JOINED_LOOPS_H

#include "autodiff/state/differentiation.h"

/// Two loops become one where the second goes on with what the first has carried, from where that ended: `if i < middle:` stands around
/// what is different in their bodies (a mask on the diagonal). So do the loops of the two branches of a constexpr flag, whose ends the
/// flag chooses then. Each gradient has one loop then, whose iterations can own it. Where the middle is a multiple of the step only if
/// one block size is of another, the kernel asserts so.
void loops_join(Differentiation *state);
/// Asserts, at the start of a kernel that is derived from joined loops, what they rest on.
void joined_loops_assert(Differentiation *state);

#endif
