// Python of an emitted Function whose quotients cost no call.
#ifndef TAD_AUTODIFF_EMIT_QUOTIENT_TEXT_H
#define TAD_AUTODIFF_EMIT_QUOTIENT_TEXT_H

#include "base/arena.h"

/// The text with `-(-a // b)` in the place of `triton.cdiv(a, b)`, which takes two microseconds of each launch.
const char *quotients_in_place(Arena *arena, const char *text);

#endif
