// A kernel of the tile IR in, Python source out: decorators, header, body, and the combine functions that come along.
#ifndef TAD_AUTODIFF_EMIT_EMIT_H
#define TAD_AUTODIFF_EMIT_EMIT_H

#include "autodiff/state/differentiation.h"

/// Python source of the kernel `function`, formatted as ruff format leaves it. `decorators`: text above the def ("@triton.jit\n");
/// `comment`: lines at the start of the body, indented. `helpers`: takes the combine functions that the file of the kernel
/// does not have (they came with a helper of another file), or "".
const char *emit_kernel(Arena *arena, const Function *function, const char *decorators,
                        const char *comment, const char **helpers);

#endif
