// Texts of tensors, as the emitted text has them.
#ifndef TAD_AUTODIFF_STATE_NAMES_H
#define TAD_AUTODIFF_STATE_NAMES_H

#include "base/arena.h"

/// What a tensor is called whose address this parameter is: in lower case and without `_ptr`.
const char *name_of_tensor(Arena *arena, const char *parameter);

#endif
