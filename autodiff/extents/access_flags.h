// The flags that an access stands below, as Python for the Function.
#ifndef TAD_AUTODIFF_EXTENTS_ACCESS_FLAGS_H
#define TAD_AUTODIFF_EXTENTS_ACCESS_FLAGS_H

#include "analysis/ir/ir.h"

/// The conditions over parameters that an access of `primal` stands below, in Python over the launch's arguments; "" for none.
/// NULL where one is not understood. Other conditions are left out.
const char *access_flags(Arena *arena, const Function *primal, const Op *access);

#endif
