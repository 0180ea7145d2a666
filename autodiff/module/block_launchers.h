// Inside autodiff/module/: an `if`, `try` or `with` around kernels and launchers, some of which have no gradients.
#ifndef TAD_AUTODIFF_MODULE_BLOCK_LAUNCHERS_H
#define TAD_AUTODIFF_MODULE_BLOCK_LAUNCHERS_H

#include "autodiff/module/module_launchers.h"

/// Whether it is such a statement, and defines kernels with a backward.
bool block_has_kernels(const ModuleWriter *writer, const Item *item);
/// The name of a launcher in it that a decorator registers as an operator; empty: there is none.
Str block_operator(const ModuleWriter *writer, const Item *item);
/// The text of such a statement that is left out as a whole: without its functions that have no gradients, which are noted, and
/// with Functions in the place of the launches of others. The item is no longer left out, and binds what is left.
const char *block_of_some(ModuleWriter *writer, Item *item, const Map *launching);

#endif
