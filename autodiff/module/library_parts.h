// Inside autodiff/module/: statements that would be in the module if they called what is differentiable.
#ifndef TAD_AUTODIFF_MODULE_LIBRARY_PARTS_H
#define TAD_AUTODIFF_MODULE_LIBRARY_PARTS_H

#include "autodiff/module/module_launchers.h"

/// Whether it would be in the module if it called what is differentiable, `callable` (names to items).
bool item_is_part_of_library(const ModuleWriter *writer, const Item *item, const Map *callable);

#endif
