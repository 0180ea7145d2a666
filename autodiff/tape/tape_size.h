// An integer value of a kernel in, the Python that has the same number at the launch out; for the sizes of tapes.
#ifndef TAD_AUTODIFF_TAPE_TAPE_SIZE_H
#define TAD_AUTODIFF_TAPE_TAPE_SIZE_H

#include "autodiff/tape/tape.h"

/// tape_size.c: Python that computes a whole number from the kernel's arguments: what the launcher can know of `value`. NULL
/// where it depends on more. `is_estimate`: either branch of a branch will do.
const char *host_text(Arena *arena, const Function *function, const Value *value, bool is_estimate);

#endif
