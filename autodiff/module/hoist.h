// Inside autodiff/: kernels that are defined inside a function or a class, for a module that launches them from elsewhere.
#ifndef TAD_AUTODIFF_MODULE_HOIST_H
#define TAD_AUTODIFF_MODULE_HOIST_H

#include "analysis/module/module.h"

/// Whether the kernel's name means nothing at module level.
bool kernel_is_nested(const FunctionDefinition *kernel);
/// Its text as it would stand at module level. NULL where it uses a variable of the function around it: `*captured`.
const char *kernel_hoisted(Arena *arena, const FunctionDefinition *kernel, Str *captured);

#endif
