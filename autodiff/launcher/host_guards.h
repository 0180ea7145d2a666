// Expressions of host code that lose a gradient, or hide a change, without a word of autograd.
#ifndef TAD_AUTODIFF_LAUNCHER_HOST_GUARDS_H
#define TAD_AUTODIFF_LAUNCHER_HOST_GUARDS_H

#include "base/arena.h"

/// The text of host code in which such expressions ask first: `x.view(torch.int64)` whether `x` has a gradient, as no view of it has one;
/// `float(a)` of a parameter that nobody declares whether it is such a tensor. Of `w.data` that is passed on or changed in place,
/// changes are counted, so that autograd sees them.
const char *host_guards_text(Arena *arena, const char *text);

#endif
