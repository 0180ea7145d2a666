// Inside autodiff/: conditions on a constexpr that launches pass few values for.
#ifndef TAD_AUTODIFF_JOINS_KNOWN_VALUES_H
#define TAD_AUTODIFF_JOINS_KNOWN_VALUES_H

#include "autodiff/state/differentiation.h"

/// Where all launches pass one of two whole numbers for a constexpr, and the kernel only asks for it in conditions (`if STAGE & 1`, `if 4 -
/// STAGE == 2`), each condition becomes true, false, or `STAGE == 3`. The kernel that is derived then is for these two values alone, and
/// has to assert so (JoinState). Whether there was such a parameter.
bool known_values_settle(Differentiation *state);

#endif
