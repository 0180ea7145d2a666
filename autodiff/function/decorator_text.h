// The decorators of a forward kernel to those of its backward: heuristics as they stand, autotuning with what it must reset.
#ifndef TAD_AUTODIFF_FUNCTION_DECORATOR_TEXT_H
#define TAD_AUTODIFF_FUNCTION_DECORATOR_TEXT_H

#include "autodiff/state/result.h"

/// decorator_text.c. Decorators of a backward kernel: the forward's own autotune and heuristics, then @triton.jit.
const char *backward_decorators(Arena *arena, const BackwardLaunch *launch,
                                const Backward *backward);

#endif
