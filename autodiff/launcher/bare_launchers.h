// Inside autodiff/: launchers without the decorators under which they have no gradients.
#ifndef TAD_AUTODIFF_LAUNCHER_BARE_LAUNCHERS_H
#define TAD_AUTODIFF_LAUNCHER_BARE_LAUNCHERS_H

#include "analysis/module/module.h"

/// Whether a function under it has no gradients: `@torch.no_grad()`.
bool decorator_takes_gradients(const Source *source, SyntaxNode decorator);
/// Decorators under which a launcher has gradients, a line each. Those that take them away are left out.
const char *kept_decorators(Arena *arena, const FunctionDefinition *function);
/// The text of an `if` or `try` at `block` of the file, without those decorators of the launchers in it.
const char *block_with_bare_launchers(Arena *arena, const Module *module, Range block,
                                      const char *text);

#endif
