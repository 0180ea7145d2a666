// Inside autodiff/module/: imports of names that an import before them has brought already, in a file that was put together of several.
#ifndef TAD_AUTODIFF_MODULE_REPEATED_IMPORTS_H
#define TAD_AUTODIFF_MODULE_REPEATED_IMPORTS_H

#include "autodiff/module/module_items.h"

/// The import `items->items[index]` without what the module has by then; empty where nothing is left of it.
Str import_without_repeats(Arena *arena, const Source *source, const Items *items, int index);

#endif
