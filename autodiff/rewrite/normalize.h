// Before the axes can be read: inductions in closed form, block pointers and descriptors as plain pointers with masks.
#ifndef TAD_AUTODIFF_REWRITE_NORMALIZE_H
#define TAD_AUTODIFF_REWRITE_NORMALIZE_H

#include "autodiff/rewrite/rewrite.h"

/// Carried inductions become expressions in the loop variable; block pointers and descriptors become plain pointers with masks.
/// After it every address is an explicit expression. Returns NULL, or why it cannot be done (with the op's range in `*range`).
const char *function_normalize(Function *function, Range *range);

#endif
