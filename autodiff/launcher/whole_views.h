// Floats that host code passes on as whole numbers.
#ifndef TAD_AUTODIFF_LAUNCHER_WHOLE_VIEWS_H
#define TAD_AUTODIFF_LAUNCHER_WHOLE_VIEWS_H

#include "base/arena.h"

/// The text of host code where each `x.view(torch.int64)` asks whether `x` has a gradient: no view of it has one.
const char *whole_views_text(Arena *arena, const char *text);

#endif
